package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// harmless are the endpoints that only tell something and cost next to nothing:
// a page of another origin may cause them to be called, as a link does. The
// browser keeps the answer from it. Everything else acts.
var harmless = []string{"/livez", "/readyz", "/health", "/v1/models", "/server_info", "/get_server_info", "/metrics"}

// acts reports whether a request does more than read.
func acts(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	return !slices.Contains(harmless, r.URL.Path) && !strings.HasPrefix(r.URL.Path, "/v1/models/")
}

// withDoor refuses what browsers send for pages that have no business here:
// requests for foreign names of this server, and those of foreign origins that
// act.
func (s *Server) withDoor(next http.Handler) http.Handler {
	rule := func(r *http.Request) (*hostRule, []string) {
		o := s.rulesFor(r.Context())
		return o.hosts, o.CORSOrigins
	}
	return door(rule, acts, next, func(w http.ResponseWriter, r *http.Request, e *apiError) {
		if r.ContentLength != 0 { // nobody reads the body
			closeAfter(w, r)
		}
		s.answer(func(http.ResponseWriter, *http.Request) *apiError { return e })(w, r)
	})
}

// door asks rule for the hosts and origins that are allowed for a request.
func door(rule func(*http.Request) (*hostRule, []string), acts func(*http.Request) bool, next http.Handler,
	refuse func(http.ResponseWriter, *http.Request, *apiError)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts, origins := rule(r)
		if e := hosts.check(r); e != nil {
			refuse(w, r, e)
			return
		}
		if foreign(r, origins) && acts(r) {
			refuse(w, r, newError(http.StatusForbidden).coded("origin_not_allowed").
				say("the request comes from a web page of another origin; to allow it, add the origin to cors-origins; behind a reverse proxy, also pass the Host header on"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser sends a request for a page of another origin
// that is not allowed. Pages cannot forge the two headers; programs do not send
// them.
func foreign(r *http.Request, allowed []string) bool {
	origins := r.Header.Values("Origin")
	if slices.Contains(allowed, "*") || len(origins) == 1 && slices.Contains(allowed, origins[0]) {
		return false
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		switch strings.ToLower(site) {
		case "cross-site":
			return true
		case "same-site": // another port or a neighbouring name: no-cors requests carry no Origin
			if len(origins) == 0 {
				return true
			}
		}
	}
	for _, origin := range origins {
		if !sameOrigin(origin, r) {
			return true
		}
	}
	return false
}

// sameOrigin compares an Origin with the Host. The scheme counts where it is
// known: behind a proxy it may be https although this server speaks http.
func sameOrigin(origin string, r *http.Request) bool {
	origin = strings.ToLower(origin)
	u, err := url.Parse(origin)
	if err != nil || u.Scheme+"://"+u.Host != origin || u.Scheme != "https" && (u.Scheme != "http" || r.TLS != nil) {
		return false
	}
	name, port, ok := splitHost(u.Host)
	wanted, wantedPort, wantedOK := splitHost(r.Host)
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return ok && wantedOK && name == wanted && cmp.Or(port, usual) == cmp.Or(wantedPort, usual)
}
