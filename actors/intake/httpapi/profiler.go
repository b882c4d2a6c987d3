package httpapi

import (
	"net"
	"net/http"
	"net/http/pprof"
)

// AdminHandler serves the profiler on an address, which the settings call host;
// allowedHosts returns that setting. The profiler shows much of the process, so only
// operators should reach the address, and it answers no page of another origin. The
// command line is left out, because it may have API keys.
func AdminHandler(host string, address net.Addr, allowedHosts func() []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts := newHostRule(host, allowedHosts())
		hosts.listens(address)
		if e := hosts.admit(r, true, nil); e != nil {
			writeError(w, e)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
