// JDBC: it sends the type of each parameter.  Run it with
// java -cp postgresql.jar UseJdbc.java 'jdbc:postgresql://localhost/postgres?user=me&password=...'
import java.sql.*;
import java.util.Arrays;

public class UseJdbc {
    static final String NUMBERS = " FROM filters WHERE name = 'numbers'";
    static final String HOSTS = " FROM filters WHERE name = 'hosts'";

    static Object one(PreparedStatement statement) throws SQLException {
        try (ResultSet result = statement.executeQuery()) {
            result.next();
            return result.getObject(1);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            PreparedStatement statement =
                connection.prepareStatement("SELECT bloom_contains(seen, ?)" + NUMBERS);
            statement.setInt(1, 7);
            System.out.println(one(statement));

            statement = connection.prepareStatement("SELECT bloom_contains(seen, ?)" + HOSTS);
            statement.setString(1, "host-7");
            System.out.println(one(statement));

            statement = connection.prepareStatement("SELECT bloom_contains_each(seen, ?)" + NUMBERS);
            statement.setArray(1, connection.createArrayOf("integer", new Integer[] {7, 100001}));
            System.out.println(Arrays.toString((Object[]) ((Array) one(statement)).getArray()));

            statement = connection.prepareStatement("SELECT seen::text" + HOSTS);
            String filter = (String) one(statement);
            statement = connection.prepareStatement("SELECT bloom_contains(?::bloom, ?)");
            statement.setString(1, filter);
            statement.setString(2, "host-7");
            System.out.println(one(statement));

            statement = connection.prepareStatement("SELECT bloom_contains(seen, ?)" + NUMBERS);
            statement.setString(1, "7");
            try {
                one(statement);
            } catch (SQLException error) {
                System.out.println(error.getSQLState() + " " + error.getMessage());
            }
        }
    }
}

// Output:
// true
// true
// [true, false]
// true
// 42804 ERROR: filter holds elements of class integer, not text
//   Detail: The element is of type character varying.
//   Hint: Cast the element, for example value::bigint, or the array, value::bigint[].
