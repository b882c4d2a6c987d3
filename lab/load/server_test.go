package load

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/serverapi"
)

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// picky is a server that refuses some requests.
type picky struct {
	eos, usage, ids bool // refused
	list            string
	info            string
	props           string
}

func (p picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		fmt.Fprint(w, p.list)
		return
	case "/server_info":
		fmt.Fprint(w, p.info)
		return
	case "/props":
		fmt.Fprint(w, p.props)
		return
	}
	a := readBody(r)
	_, text := a.Prompt.(string)
	switch {
	case a.IgnoreEOS != nil && p.eos, a.Options != nil && p.usage, !text && a.Messages == nil && p.ids:
		text400(w)
	default:
		words := 0
		if text {
			words = 3 + 2*len(strings.Fields(a.Prompt.(string)))
		}
		send(w, fmt.Sprintf("data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", words))
	}
}

func text400(w http.ResponseWriter) {
	http.Error(w, `{"error":{"message":"unknown field"}}`, http.StatusBadRequest)
}

func TestLearn(t *testing.T) {
	const list = `{"data":[{"id":"big","owned_by":"vllm"},{"id":"small","meta":{"n_vocab":500}}]}`
	for _, c := range []struct {
		name  string
		p     picky
		model string
		want  Server
	}{
		{"all", picky{list: list, info: `{"model":{"vocab_size":1280}}`}, "", Server{Model: "big", OwnedBy: "vllm", Vocab: 1280, IDs: true, IgnoreEOS: true, Usage: true}},
		{"named", picky{list: list}, "small", Server{Model: "small", Vocab: 500, IDs: true, IgnoreEOS: true, Usage: true}},
		{"not listed", picky{list: list}, "mine", Server{Model: "mine", IDs: true, IgnoreEOS: true, Usage: true}},
		{"no ids", picky{list: list, ids: true}, "", Server{Model: "big", OwnedBy: "vllm", IgnoreEOS: true, Usage: true}},
		{"no ignore_eos", picky{list: list, eos: true}, "", Server{Model: "big", OwnedBy: "vllm", IDs: true, Usage: true}},
		{"no usage", picky{list: list, usage: true}, "", Server{Model: "big", OwnedBy: "vllm", IDs: true, IgnoreEOS: true}},
		{"nothing", picky{list: list, eos: true, usage: true, ids: true}, "", Server{Model: "big", OwnedBy: "vllm"}},
		{"context of vLLM", picky{list: `{"data":[{"id":"m","max_model_len":4096}]}`, props: `{"default_generation_settings":{"n_ctx":7}}`}, "", Server{Model: "m", Context: 4096, IDs: true, IgnoreEOS: true, Usage: true}},
		{"context of llama-server", picky{list: `{"data":[{"id":"m","max_model_len":null,"meta":{"n_vocab":500,"n_ctx":256,"n_ctx_train":32768}}]}`}, "", Server{Model: "m", Vocab: 500, Context: 256, IDs: true, IgnoreEOS: true, Usage: true}},
		{"context of an older one", picky{list: `{"data":[{"id":"m","meta":{"n_vocab":500,"n_ctx_train":32768}}]}`, props: `{"default_generation_settings":{"n_ctx":512}}`}, "", Server{Model: "m", Vocab: 500, Context: 512, IDs: true, IgnoreEOS: true, Usage: true}},
		{"context of Troupe", picky{list: list, info: `{"model":{"vocab_size":1280,"context_length":1024},"memory":{"max_total_num_tokens":4096}}`}, "", Server{Model: "big", OwnedBy: "vllm", Vocab: 1280, Context: 1024, IDs: true, IgnoreEOS: true, Usage: true}},
		{"a pool below the context", picky{list: list, info: `{"model":{"vocab_size":1280,"context_length":1024},"memory":{"max_total_num_tokens":320}}`}, "", Server{Model: "big", OwnedBy: "vllm", Vocab: 1280, Context: 320, IDs: true, IgnoreEOS: true, Usage: true}},
		{"other things there", picky{list: list, info: `{"model":"big","memory":7}`, props: `[]`}, "", Server{Model: "big", OwnedBy: "vllm", IDs: true, IgnoreEOS: true, Usage: true}},
		{"no list", picky{list: "not found"}, "mine", Server{Model: "mine", IDs: true, IgnoreEOS: true, Usage: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, c.p.ServeHTTP, func(o *ClientOptions) { o.Frame.Model, o.Frame.IgnoreEOS = c.model, true }, func(t *testing.T, o ClientOptions) {
				got, err := Learn(t.Context(), o, true)
				if err != nil || *got != c.want {
					t.Errorf("got %+v, %v, want %+v", got, err, c.want)
				}
			})
		})
	}
}

func TestLearnSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"key", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusUnauthorized) }, "requires an API key"},
		{"no model", picky{list: `{"data":[]}`}.ServeHTTP, "lists no model"},
		{"key later", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				return
			}
			http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusForbidden)
		}, "use --api-key: wrong key"},
		{"no endpoint", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				return
			}
			http.NotFound(w, r)
		}, "lacks the endpoint"},
		{"refuses all", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				return
			}
			text400(w)
		}, "HTTP 400 Bad Request: unknown field"},
	} {
		virtual(t, c.h, func(o *ClientOptions) { o.Frame.Model = "" }, func(t *testing.T, o ClientOptions) {
			if _, err := Learn(t.Context(), o, true); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// Learn does not wait for what only some servers have.
func TestLearnFromASilentServer(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/server_info" || r.URL.Path == "/props" {
			<-r.Context().Done()
			return
		}
		picky{list: `{"data":[{"id":"m"}]}`}.ServeHTTP(w, r)
	}
	virtual(t, h, func(o *ClientOptions) { o.Frame.Model = "" }, func(t *testing.T, o ClientOptions) {
		began := time.Now()
		s, err := Learn(t.Context(), o, true)
		if err != nil || s.Model != "m" || s.Context != 0 || !s.IDs {
			t.Errorf("%+v, %v", s, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("after %s", took)
		}
	})
}

func TestCalibrate(t *testing.T) {
	words := func(n int) string { return strings.Repeat("word ", n) }
	virtual(t, picky{}.ServeHTTP, nil, func(t *testing.T, o ClientOptions) {
		if got, err := Calibrate(t.Context(), o, words); err != nil || got != 2 {
			t.Errorf("%v, %v: every word is two tokens", got, err)
		}
	})
	refuses := func(w http.ResponseWriter, _ *http.Request) { text400(w) }
	virtual(t, refuses, nil, func(t *testing.T, o ClientOptions) {
		if _, err := Calibrate(t.Context(), o, words); err == nil || !strings.Contains(err.Error(), "16 words") {
			t.Errorf("%v", err)
		}
	})
}

func TestFlushCache(t *testing.T) {
	flushed := 0
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/flush_cache" || flushed > 0 {
			http.NotFound(w, r)
			return
		}
		flushed++
	}
	virtual(t, h, nil, func(t *testing.T, o ClientOptions) {
		if err := FlushCache(t.Context(), o); err != nil || flushed != 1 {
			t.Errorf("%v, flushed %d times", err, flushed)
		}
		if err := FlushCache(t.Context(), o); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%v", err)
		}
	})
}

func TestExtraBodiesAreChecked(t *testing.T) {
	if _, err := NewClient(ClientOptions{Server: serverapi.Server{Base: mustURL(t, "http://x")}, Frame: wire.FrameOptions{Extra: []byte("[]")}}); err == nil {
		t.Error("a list is taken for an object")
	}
}
