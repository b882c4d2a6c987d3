package hub

import (
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 10

// ours reports whether an address is the hub's own. Only there the token is sent: a
// redirect leads to other hosts.
func (h *Hub) ours(u *url.URL) bool {
	return u.Scheme == h.opt.Endpoint.Scheme && u.Host == h.opt.Endpoint.Host
}

func redirected(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// redirects are those of one request.
type redirects struct {
	seen map[string]bool
	n    int
}

// follow returns the next address.
func (r *redirects) follow(from *url.URL, location string) (string, error) {
	r.seen[from.String()] = true
	to, err := from.Parse(location)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Host == "" {
		location, _, _ = strings.Cut(location, "?") // what follows may be a signature
		return "", lie("%s redirects to %q, which is not an address", from.Host, clip(location))
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return "", lie("%s redirects from https to http", from.Host)
	}
	to.Fragment = ""
	if r.n++; r.n > maxRedirects {
		return "", lie("%s redirects more than %d times", from.Host, maxRedirects)
	}
	if r.seen[to.String()] {
		return "", lie("%s redirects in a circle", from.Host)
	}
	return to.String(), nil
}
