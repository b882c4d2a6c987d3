// Command server serves the embedded model as a repository of a hub, for clients in other
// languages. It prints its address and runs until it is stopped.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

func main() {
	repo := &hubtest.Repo{Name: "troupe/little", Files: map[string][]byte{"README.md": []byte("# little\n")}}
	for _, pattern := range []string{"*.json", "*.safetensors", "*.jinja"} {
		names, err := fs.Glob(bundled.FS(), pattern)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range names {
			if repo.Files[name], err = fs.ReadFile(bundled.FS(), name); err != nil {
				log.Fatal(err)
			}
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	h := hubtest.New(repo)
	h.URL = "http://" + l.Addr().String()
	h.CDN = h.URL + "/cdn"
	fmt.Println(h.URL)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(l))
}
