// Command gen writes the Go types of package wire from its wire.proto, without protoc.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	files, _, err := generate(".")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
