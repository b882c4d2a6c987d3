package node

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/configs"
)

// What is wrong with the cluster's settings is told before the model, which does not exist here.
func TestTheClusterIsCheckedBeforeTheModel(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, test := range []struct {
		change func(*configs.Cluster)
		words  string
	}{
		{func(k *configs.Cluster) { k.Listen = used.Addr().String() }, "cluster-listen"},
		{func(k *configs.Cluster) { k.CA, k.Cert, k.Key = missing+".ca", missing+".cert", missing+".key" }, "cluster-tls-ca"},
	} {
		c := clusteredSettings(t, "engine")
		c.Model = missing
		test.change(&c.Cluster)
		if _, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("got %v, want one about %s", err, test.words)
		}
	}
}

// An expired certificate is an error, with the date and what still works.
func TestTheLogOfAnExpiredCertificate(t *testing.T) {
	var log bytes.Buffer
	notices(zerolog.New(&log)).Expired(time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC))
	want := `{"level":"error","message":"the certificate of this node expired on 2026-03-01 12:30 UTC; open links go on, new ones cannot open; renew it with troupe cluster certs"}` + "\n"
	if log.String() != want {
		t.Errorf("got %s, want %s", log.String(), want)
	}
}
