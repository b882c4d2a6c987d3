package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-engine/troupe/actors/intake/httpapi/page"
)

// handler is an endpoint; an error it returns has not been written yet.
type handler func(w http.ResponseWriter, r *http.Request) *apiError

type route struct {
	method, path string
	access       access
	handle       handler
}

// show is the handler of an endpoint that answers with a value.
func show(value func() any) handler {
	return func(w http.ResponseWriter, _ *http.Request) *apiError {
		return respond(w, value())
	}
}

// routes are the endpoints of the server, for its role in a cluster.
func (s *Server) routes() []route {
	all := append(s.allRoutes(), s.clusterRoutes()...)
	if s.Node != nil {
		all = slices.DeleteFunc(all, func(r route) bool { return !slices.Contains(engineEndpoints, r.path) })
	}
	return all
}

func (s *Server) allRoutes() []route {
	generate := generating(s, s.prepareGenerate)
	if s.Gateway {
		generate = generating(s, s.prepareGatewayGenerate)
	}
	return []route{
		{"POST", "/v1/chat/completions", forUsers, generating(s, s.prepareChat)},
		{"POST", "/v1/completions", forUsers, generating(s, s.prepareCompletion)},
		{"GET", "/v1/models", forUsers, show(s.models)},
		{"GET", "/v1/models/{id...}", forUsers, s.getModel},
		{"POST", "/generate", forUsers, generate},
		{"POST", "/tokenize", forUsers, post(s, s.tokenize)},
		{"POST", "/v1/tokenize", forUsers, post(s, s.tokenize)},
		{"POST", "/detokenize", forUsers, post(s, s.detokenize)},
		{"POST", "/v1/detokenize", forUsers, post(s, s.detokenize)},
		{"GET", "/livez", forAnyone, show(func() any { return map[string]string{"status": "live"} })},
		{"GET", "/readyz", forAnyone, s.readyNow},
		{"GET", "/health", forAnyone, s.readyNow},
		{"GET", "/health_generate", forAnyone, s.healthGenerate},
		{"GET", "/server_info", forUsers, show(func() any { return s.Info() })},
		{"GET", "/get_server_info", forUsers, show(func() any { return s.Info() })},
		{"POST", "/flush_cache", forAdmin, s.flushCache},
		{"POST", "/abort_request", forUsers, post(s, s.abortRequest)},
		{"GET", "/debug/audit", forAdmin, s.audit},
		{"GET", "/debug/cache", forAdmin, s.cacheTree},
		{"GET", "/v1/kv_events", forAdmin, s.kvEvents},
		{"GET", "/v1/board", forAdmin, s.boardStream},
		{"GET", "/openapi.json", forAnyone, show(sync.OnceValue(s.openAPI))},
		{"GET", "/metrics", forUsers, func(w http.ResponseWriter, r *http.Request) *apiError {
			s.Metrics.ServeHTTP(w, r)
			return nil
		}},
	}
}

// otherEndpoints are endpoints of other servers that clients try, by the beginning of their
// paths, and what to do instead.
var otherEndpoints = []struct{ prefix, instead string }{
	{"/v1/responses", "the Responses API is not implemented; set the client to chat completions, POST /v1/chat/completions"},
	{"/responses", "the Responses API is not implemented; use POST /v1/chat/completions"},
	{"/v1/messages", "Anthropic's API is not implemented; use an OpenAI-compatible client with POST /v1/chat/completions"},
	{"/v1/embeddings", "embeddings are not implemented; this server generates text"},
	{"/v1/rerank", "reranking is not implemented; this server generates text"},
	{"/v1/audio/", "audio is not implemented; this server generates text"},
	{"/v1/images/", "images are not implemented; this server generates text"},
	{"/api/", "Ollama's own API is not implemented; set the client to OpenAI's API with the base URL http://HOST:PORT/v1"},
	{"/chat/completions", "the base URL of the client needs /v1 at its end"},
	{"/completions", "the base URL of the client needs /v1 at its end"},
	{"/models", "the base URL of the client needs /v1 at its end"},
	{"/completion", "llama.cpp's own API is not implemented; use POST /v1/completions"},
	{"/v1/v1/", "the base URL of the client has /v1 twice"},
}

// instead says what to use in place of an unknown endpoint.
func instead(path string) string {
	for _, other := range otherEndpoints {
		if strings.HasPrefix(path, other.prefix) {
			return other.instead
		}
	}
	return "to generate text use /v1/chat/completions, /v1/completions or /generate"
}

func unknownEndpoint(r *http.Request) *apiError {
	return newError(http.StatusNotFound).coded("not_found").
		say("unknown endpoint %s; %s", clip(r.URL.Path, 128), own(instead(r.URL.Path)))
}

// browserPage shows the chat page to browsers. Programs get what they get elsewhere.
func (s *Server) browserPage(w http.ResponseWriter, r *http.Request) *apiError {
	if !page.Wants(r) || !files.Serve(w, r, "") {
		return unknownEndpoint(r)
	}
	return nil
}

func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) *apiError {
	if !files.Serve(w, r, r.PathValue("file")) {
		return unknownEndpoint(r)
	}
	return nil
}

// files are those of the page.
var files = page.New()

// Handler serves every endpoint, within request ids, access log, CORS and keys.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string]string{}
	for _, rt := range s.routes() {
		mux.HandleFunc(rt.method+" "+rt.path, s.withErrors(s.withKey(rt.access, rt.handle)))
		methods[rt.path] = rt.method
	}
	for path, method := range methods {
		mux.HandleFunc(path, s.withErrors(func(w http.ResponseWriter, r *http.Request) *apiError {
			w.Header().Set("Allow", method)
			return newError(http.StatusMethodNotAllowed).
				say("%s is not allowed for %s; use %s", r.Method, clip(r.URL.Path, 128), own(method))
		}))
	}
	if s.Node == nil {
		mux.HandleFunc("GET /{$}", s.withErrors(s.browserPage))
		mux.HandleFunc("GET /docs", s.withErrors(s.docsPage))
		mux.HandleFunc("GET /page/{file}", s.withErrors(s.pageFile))
	}
	rest := func(w http.ResponseWriter, r *http.Request) *apiError {
		return unknownEndpoint(r)
	}
	if s.Node != nil {
		rest = s.withKey(forUsers, s.Node.misdirected)
	}
	mux.HandleFunc("/", s.withErrors(rest))
	return s.withRequestID(s.withOrigins(s.withCORS(mux)))
}
