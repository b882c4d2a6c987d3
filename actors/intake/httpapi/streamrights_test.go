package httpapi_test

import (
	"bufio"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// A stream without an end ends when its key is revoked or is no longer an administrator's,
// with an error that says so. One with another key goes on.
func TestEndlessStreamsEndWithTheRightsOfTheirKeys(t *testing.T) {
	named := func(name string, admin bool) httpapi.Key {
		return httpapi.Key{Name: name, Admin: admin, Digest: sha256.Sum256([]byte(name))}
	}
	before := httpapi.Options{Keys: []httpapi.Key{named("gone", true), named("user", true), named("boss", true)}}
	after := httpapi.Options{Keys: []httpapi.Key{named("user", false), named("boss", true)}}
	engine := testserver.Start(t, testserver.Options{Change: withEvents(0), HTTP: before})
	cluster, _ := supervised(t, before, nil)
	type stream struct {
		name string
		resp *http.Response
		code string // of the error
	}
	var streams, stay []stream
	for path, s := range map[string]*testserver.Server{"/v1/board": engine, "/v1/kv_events": engine, "/v1/cluster/events": cluster} {
		for key, code := range map[string]string{"gone": "invalid_api_key", "user": "admin_key_required", "boss": ""} {
			resp := open(t, s, "GET", path, nil, "Authorization", "Bearer "+key)
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s for %s: %s", path, key, resp.Status)
			}
			if one := (stream{path + " of " + key, resp, code}); code != "" {
				streams = append(streams, one)
			} else {
				stay = append(stay, one)
			}
		}
	}
	engine.HTTP.Configure(after)
	cluster.HTTP.Configure(after)
	for _, one := range streams {
		text, err := io.ReadAll(one.resp.Body)
		at := max(0, strings.LastIndex(string(text), "data: "))
		if last := string(text[at:]); err != nil || !strings.Contains(last, one.code) || !strings.Contains(last, "the stream ends, because its API key ") {
			t.Errorf("%s ended with %.300s (%v)", one.name, last, err)
		}
	}
	// The others have been checked meanwhile, too. They end with the server, without an error.
	engine.HTTP.Drain()
	cluster.HTTP.Drain()
	for _, one := range stay {
		for lines := bufio.NewScanner(one.resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), "API key") {
				t.Errorf("%s: %s", one.name, lines.Text())
			}
		}
	}
}
