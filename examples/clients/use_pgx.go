// pgx: like asyncpg, it asks the server for the types of parameters.
package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v4"
)

func main() {
	background := context.Background()
	connection, err := pgx.Connect(background, "")
	if err != nil {
		panic(err)
	}
	defer connection.Close(background)
	ask := func(result interface{}, query string, parameters ...interface{}) {
		if err := connection.QueryRow(background, query, parameters...).Scan(result); err != nil {
			fmt.Println(err)
		}
	}
	var found bool
	var each []bool
	var filter string

	ask(&found, "SELECT bloom_contains(seen, $1::integer) FROM filters WHERE name = 'numbers'", 7)
	fmt.Println(found)
	ask(&each, "SELECT bloom_contains_each(seen, $1::integer[]) FROM filters WHERE name = 'numbers'", []int{7, 100001})
	fmt.Println(each)
	ask(&filter, "SELECT seen FROM filters WHERE name = 'hosts'")
	ask(&found, "SELECT bloom_contains($1::bloom, $2)", filter, "host-7")
	fmt.Println(found)
	ask(&found, "SELECT bloom_contains(seen, $1) FROM filters WHERE name = 'numbers'", 7)
}

// Output:
// true
// [true false]
// true
// cannot convert 7 to Text
