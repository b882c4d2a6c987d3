package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
)

// access is who may use an endpoint.
type access uint8

const (
	// forUsers is whoever has an API key, or anyone where none is asked for.
	forUsers access = iota
	// forAdmin is who has the admin key: what the endpoint shows or changes
	// concerns every client.
	forAdmin
	// forAnyone needs no key: probes have none.
	forAnyone
)

// role is what the key of a request makes of its sender.
type role uint8

const (
	stranger role = iota
	user
	admin
)

// digests are digests of keys. Comparing them in constant time reveals neither a
// key's length nor its beginning.
type digests map[[32]byte]bool

// has compares with every digest.
func (d digests) has(one *[32]byte) bool {
	found := 0
	for known := range d {
		found |= subtle.ConstantTimeCompare(known[:], one[:])
	}
	return found == 1
}

// keyring holds the keys of a server.
type keyring struct {
	asks  bool // users need a key
	apart bool // senders differ, and each has a prefix cache of its own
	users digests
	admin digests // at most one
}

func newKeyring(o *Options) *keyring {
	k := &keyring{asks: len(o.APIKeys) > 0, users: digests{}, admin: digests{}}
	senders := digests{} // the keys and, where none is needed, one for all requests without a key
	if !k.asks {
		senders[[32]byte{}] = true
	}
	for _, key := range o.APIKeys {
		k.users[sha256.Sum256([]byte(key))] = true
	}
	if o.AdminAPIKey != "" {
		k.admin[sha256.Sum256([]byte(o.AdminAPIKey))] = true
	}
	maps.Copy(senders, k.users)
	maps.Copy(senders, k.admin)
	k.apart = !o.SharePrefixCache && len(senders) > 1
	return k
}

// identify says who sends a request, the short digest of the key, "" for one that
// is not known, and whose prefix cache is used, "" for the one that all without
// a cache of their own share. Without an admin key, the only API key is its owner's, and so is
// a server without any key; several keys are several owners, of whom none may
// look after the others.
func (k *keyring) identify(r *http.Request) (who role, key, cache string) {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		sent = ""
	}
	digest := sha256.Sum256([]byte(sent))
	isAdmin, isUser := k.admin.has(&digest), k.users.has(&digest)
	if sent == "" { // a request without a key matches none, even if the settings hold an empty one
		isAdmin, isUser = false, false
	}
	key = hex.EncodeToString(digest[:8])
	if k.apart {
		cache = hex.EncodeToString(digest[:])
	}
	switch {
	case isAdmin, isUser && len(k.admin) == 0 && len(k.users) == 1:
		return admin, key, cache
	case isUser:
		return user, key, cache
	case k.asks:
		return stranger, "", ""
	case len(k.admin) > 0:
		return user, "", ""
	}
	return admin, "", ""
}

// withKey lets through who has access, and notes who it is.
func (s *Server) withKey(needed access, next handler) handler {
	if needed == forAnyone {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		who, key, cache := s.rulesFor(r.Context()).keys.identify(r)
		if who == stranger {
			return unauthorized(w, "the API key is missing or wrong; send it as Authorization: Bearer KEY")
		}
		t := trailOf(r.Context())
		t.role, t.key, t.cache = who, key, cache
		if needed == forAdmin {
			if err := s.needsAdmin(w, r, r.URL.Path); err != nil {
				return err
			}
		}
		return next(w, r)
	}
}

// needsAdmin rejects callers without the admin key from endpoints that affect
// all clients.
func (s *Server) needsAdmin(w http.ResponseWriter, r *http.Request, what string) *apiError {
	t := trailOf(r.Context())
	switch {
	case t.role == admin:
		return nil
	case t.key == "":
		return unauthorized(w, "%s requires the admin key; send it as Authorization: Bearer KEY", what)
	case len(s.rulesFor(r.Context()).keys.admin) > 0:
		return forbidden("%s affects all clients and requires the admin key", what)
	}
	return forbidden("%s affects all clients and is disabled, because the server has several API keys but no admin key; start it with admin-api-key", what)
}

func unauthorized(w http.ResponseWriter, format string, args ...any) *apiError {
	w.Header().Set("WWW-Authenticate", "Bearer")
	return newError(http.StatusUnauthorized).coded("invalid_api_key").say(format, args...)
}

func forbidden(format string, args ...any) *apiError {
	return newError(http.StatusForbidden).coded("admin_key_required").say(format, args...)
}
