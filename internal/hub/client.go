package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of requests.
const (
	attempts    = 5
	firstPause  = 500 * time.Millisecond // doubles with each attempt
	longPause   = 8 * time.Second
	longestWait = time.Minute // that an answer may ask for
	maxList     = 16 << 20    // bytes of a list
)

// retryAfter is how long an answer asks to wait, in seconds; 0: it does not say.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if text == "" { // the hub's own form: "api";r=0;t=42
		for field := range strings.SplitSeq(header.Get("Ratelimit"), ";") {
			if t, ok := strings.CutPrefix(strings.TrimSpace(field), "t="); ok {
				text = t
			}
		}
	}
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, 86400))*time.Second, longestWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), longestWait)
	}
	return 0
}

// pause is how long to wait before an attempt, counted from 1.
func pause(attempt int, err error) time.Duration {
	d := min(firstPause<<(attempt-1), longPause)
	if e, ok := errors.AsType[*Error](err); ok {
		d = max(d, e.wait)
	}
	return d
}

// mayPass reports whether a later attempt may succeed.
func mayPass(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.again
	}
	_, network := errors.AsType[*unreachable](err)
	return network
}

// list reads a JSON answer of the hub, with retries. next is the address of the next page.
// With cached, the cache has what is needed if the hub cannot be reached: nobody waits for
// a network that is not there.
func (h *Hub) list(ctx context.Context, cached bool, address, what string, into any) (next string, err error) {
	limit := 6 * h.opt.headerTimeout()
	if cached {
		limit = h.opt.headerTimeout()
	}
	for attempt := 1; ; attempt++ {
		next, err = h.listOnce(ctx, limit, address, what, into)
		if err == nil || ctx.Err() != nil || attempt == attempts || !mayPass(err) {
			return next, err
		}
		if _, network := errors.AsType[*unreachable](err); network && cached {
			return next, err
		}
		if err := h.opt.Wait(ctx, pause(attempt, err)); err != nil {
			return "", err
		}
	}
}

func (h *Hub) listOnce(ctx context.Context, limit time.Duration, address, what string, into any) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, _, err := h.get(ctx, address, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", h.answered(resp, what)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	switch {
	case err != nil:
		return "", &unreachable{h.opt.Endpoint.Host, err}
	case len(text) > maxList:
		return "", lie("the list of files of %s has more than %d bytes", what, maxList)
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")):
		return "", &unreachable{h.opt.Endpoint.Host, errors.New("a web page came instead of the hub's answer, maybe the login page of a network")}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return "", lie("the answer about %s is not the expected JSON", what)
	}
	return nextPage(resp.Header.Values("Link")), nil
}

// nextPage finds the address with rel="next" in Link headers (RFC 8288).
func nextPage(links []string) string {
	for _, header := range links {
		for link := range strings.SplitSeq(header, ",") {
			address, params, ok := strings.Cut(strings.TrimSpace(link), ">")
			if !ok || !strings.HasPrefix(address, "<") {
				continue
			}
			for param := range strings.SplitSeq(params, ";") {
				if p := strings.ReplaceAll(strings.TrimSpace(param), `"`, ""); strings.EqualFold(p, "rel=next") {
					return address[1:]
				}
			}
		}
	}
	return ""
}

// get sends a request and follows redirects. final is the address that has answered.
func (h *Hub) get(ctx context.Context, address string, header http.Header) (resp *http.Response, final string, err error) {
	if h.opt.Offline {
		return nil, "", fmt.Errorf("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, so the hub is not contacted; unset it to download")
	}
	r := &redirects{seen: map[string]bool{}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, "", lie("%q is not an address", clip(address))
		}
		for name, values := range header {
			req.Header[name] = values
		}
		req.Header.Set("User-Agent", "troupe")
		req.Header.Set("Accept-Encoding", "identity")
		if h.opt.Token != "" && h.ours(req.URL) {
			req.Header.Set("Authorization", "Bearer "+h.opt.Token)
		}
		resp, err := h.opt.Transport.RoundTrip(req) // an http.Client puts a wrong Location with its signature into its error
		if err != nil {
			switch cause := context.Cause(ctx); {
			case errors.Is(cause, errStalled):
				err = cause
			case cause != nil && !errors.Is(cause, context.DeadlineExceeded):
				return nil, "", ctx.Err()
			}
			return nil, "", h.hidden(&unreachable{req.URL.Host, err})
		}
		if !redirected(resp) {
			return resp, address, nil
		}
		resp.Body.Close()
		if address, err = r.follow(req.URL, resp.Header.Get("Location")); err != nil {
			return nil, "", err
		}
	}
}

// clip shortens what the hub has sent for an error.
func clip(text string) string { return clipTo(text, 100) }

func clipTo(text string, bytes int) string {
	if len(text) > bytes {
		return strings.ToValidUTF8(text[:bytes], "") + "…"
	}
	return text
}
