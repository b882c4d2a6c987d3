package remote

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// hostile has every kind of control character that the filter removes.
const hostile = "a\x1b[2J\u009b31m\u0085\u202eb\u2066\u061c\u200f\u2028\nforged\r\x7f\x1b[31mred"

var steering = regexp.MustCompile("[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

// Text of another server is shown without control characters.
func TestViewsOfAHostileServer(t *testing.T) {
	body, err := json.Marshal(map[string]any{"error": map[string]string{"message": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		w.Write(body)
	}))
	defer server.Close()
	_, err = (&Server{URL: server.URL}).Get(t.Context(), "/server_info", nil)
	if err == nil || !strings.Contains(err.Error(), `\u202e`) || steering.MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q", err)
	}
	if text := strings.Join((&View{Model: hostile}).Screen(200, false), ""); !strings.Contains(text, `\u202e`) || steering.MatchString(text) || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	var out bytes.Buffer
	s := Status{}
	if err := json.Unmarshal([]byte(`{"memory": {"stats": {}}, "model": {}, "device": {}}`), &s); err != nil || s.Memory.Stats == nil {
		t.Fatal(err, s.Memory.Stats)
	}
	s.Model.ID, s.Device.Name = "a\x1b[2J\u202e", "b\u009b"
	if err := s.WriteMemory(&out); err != nil || steering.MatchString(out.String()) || !strings.Contains(out.String(), `a\u001b[2J\u202e on b\u009b`) {
		t.Errorf("%v: %q", err, out.String())
	}
}
