package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// harmless are the endpoints that only read and cost very little. Pages of other
// origins may call them, as links do; browsers hide the answer. All others act.
var harmless = []string{"/livez", "/readyz", "/health", "/v1/models", "/server_info", "/get_server_info", "/metrics", "/"}

// acts reports whether a request does more than read.
func acts(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	return !opens(r) && !slices.Contains(harmless, r.URL.Path) && !strings.HasPrefix(r.URL.Path, "/v1/models/") && !strings.HasPrefix(r.URL.Path, "/page/")
}

// texts are the endpoints that a person opens by a link: descriptions of the API, the same
// for everyone, for which no key is asked.
var texts = []string{"/docs", "/openapi.json"}

// opens reports whether a browser opens one of the texts in a window, as it does when somebody
// follows a link of another site. This is safe: the page with the link cannot read the
// other window, and reading these texts changes nothing. Scripts cannot pretend to it,
// because a browser sets headers that begin with Sec- itself; their requests have another
// mode, and frames and objects another destination, so those are refused as before.
func opens(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.Contains(texts, r.URL.Path) &&
		slices.Equal(r.Header.Values("Sec-Fetch-Mode"), []string{"navigate"}) && slices.Equal(r.Header.Values("Sec-Fetch-Dest"), []string{"document"})
}

// withOrigins refuses what browsers send for pages of foreign origins.
func (s *Server) withOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := s.rulesFor(r.Context())
		e := o.hosts.admit(r, acts(r), o.CORSOrigins)
		if e == nil {
			next.ServeHTTP(w, r)
			return
		}
		if r.ContentLength != 0 { // the body is not read
			closeAfter(w, r)
		}
		s.withErrors(func(http.ResponseWriter, *http.Request) *apiError { return e })(w, r)
	})
}

// admit refuses a request for a foreign name of this server, and one that acts and
// comes from an origin that is foreign and not allowed.
func (h *hostRule) admit(r *http.Request, acts bool, origins []string) *apiError {
	if e := h.check(r); e != nil {
		return e
	}
	if acts && foreign(r, origins) && preflight(r) {
		return newError(http.StatusForbidden).coded("origin_not_allowed").
			say("preflight request refused: web pages of the origin %q are not allowed to call this server; add the origin to cors-origins", clip(r.Header.Get("Origin"), 128))
	}
	if acts && foreign(r, origins) {
		return newError(http.StatusForbidden).coded("origin_not_allowed").
			say("requests from web pages of this origin are not allowed; add the origin to cors-origins or, behind a reverse proxy, forward the Host header")
	}
	return nil
}

// foreign reports whether a request is from a web page of another origin that is not
// allowed. Pages cannot forge the two headers, and programs do not send them.
func foreign(r *http.Request, allowed []string) bool {
	origins := r.Header.Values("Origin")
	if slices.Contains(allowed, "*") || len(origins) == 1 && slices.Contains(allowed, origins[0]) {
		return false
	}
	// same-site is another port or name; in the mode no-cors without an Origin.
	site := func(s string) bool {
		return strings.EqualFold(s, "cross-site") || strings.EqualFold(s, "same-site") && len(origins) == 0
	}
	return slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), site) ||
		slices.ContainsFunc(origins, func(o string) bool { return !sameOrigin(o, r) })
}

// sameOrigin compares an Origin with the Host. The scheme is compared only over TLS:
// behind a proxy it may be https although this server speaks http.
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

// preflight reports whether a browser asks if a page of another origin may send a request.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// withCORS answers browsers of the allowed origins.
func (s *Server) withCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, allowed := r.Header.Get("Origin"), s.rulesFor(r.Context()).CORSOrigins
		if origin != "" && (slices.Contains(allowed, "*") || slices.Contains(allowed, origin)) {
			h := w.Header()
			h.Add("Vary", "Origin")
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "X-Request-ID, Retry-After, X-Should-Retry, "+ignoredHeader)
			if preflight(r) {
				h.Set("Access-Control-Allow-Methods", "GET, POST")
				h.Set("Access-Control-Allow-Headers", cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "Authorization, Content-Type"))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
