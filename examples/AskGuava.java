// Ask a filter that PostgreSQL has built for Guava, without the database.
//
//     INSERT INTO filters
//     SELECT 'hosts', bloom_add_all(bloom_create_foreign('guava', 'text', 1000000, 0.01),
//                                   ARRAY(SELECT host FROM blacklist));
//
// With psql into a file, as docs/foreign.md has it; or by JDBC, as here.
//
//     java -cp guava.jar:postgresql.jar AskGuava.java 'jdbc:postgresql:mydatabase' hosts www.debian.org
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public class AskGuava {
    static BloomFilter<CharSequence> fetch(Connection connection, String name) throws SQLException, IOException {
        try (PreparedStatement query =
                connection.prepareStatement("SELECT bloom_export(f, 'guava') FROM filters WHERE name = ?")) {
            query.setString(1, name);
            try (ResultSet result = query.executeQuery()) {
                if (!result.next()) {
                    throw new SQLException("there is no filter " + name);
                }
                // the funnel is the form 'text'; with another, elements are not found
                return BloomFilter.readFrom(new ByteArrayInputStream(result.getBytes(1)),
                                            Funnels.stringFunnel(StandardCharsets.UTF_8));
            }
        }
    }

    public static void main(String[] arguments) throws SQLException, IOException {
        BloomFilter<CharSequence> filter;

        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            filter = fetch(connection, arguments[1]);
        }
        for (int i = 2; i < arguments.length; i++) {
            System.out.println(arguments[i] + " " + (filter.mightContain(arguments[i]) ? "perhaps" : "no"));
        }
    }
}
