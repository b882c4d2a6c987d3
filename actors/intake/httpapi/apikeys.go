package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
)

// access is the role that an endpoint requires.
type access uint8

const (
	forUsers  access = iota // an API key, if the server has any
	forAdmin                // the admin key: the endpoint affects all clients
	forAnyone               // no key: probes have none
)

// role follows from the key of a request.
type role uint8

const (
	stranger role = iota
	user
	admin
)

// digests are digests of keys. Comparing them in constant time reveals nothing of a key.
type digests map[[32]byte]bool

// has compares with every digest.
func (d digests) has(one *[32]byte) bool {
	found := 0
	for known := range d {
		found |= subtle.ConstantTimeCompare(known[:], one[:])
	}
	return found == 1
}

// Key is an API key with a name. Only its digest is kept.
type Key struct {
	Name   string // of at most 64 characters; in the log and in metrics
	Admin  bool   // it may do what affects all clients
	Digest [sha256.Size]byte
}

type keyring struct {
	asks  bool // users need a key
	filed bool // all API keys are of a file
	apart bool // each sender has its own prefix cache
	users digests
	admin digests
	names map[[sha256.Size]byte]string // of all keys
	// soleAdmin: the only API key has the role of the admin, because there is no other key.
	soleAdmin bool
}

func newKeyring(o *Options) *keyring {
	k := &keyring{asks: len(o.APIKeys)+len(o.Keys) > 0, filed: len(o.APIKeys) == 0 && len(o.Keys) > 0, users: digests{}, admin: digests{}, names: map[[sha256.Size]byte]string{}}
	for _, key := range o.APIKeys {
		digest := sha256.Sum256([]byte(key))
		k.users[digest] = true
		k.names[digest] = "api-key-" + hex.EncodeToString(digest[:4])
	}
	if o.AdminAPIKey != "" {
		digest := sha256.Sum256([]byte(o.AdminAPIKey))
		k.admin[digest] = true
		k.names[digest] = "admin-api-key"
	}
	k.soleAdmin = len(k.admin) == 0 && len(k.users) == 1 && len(o.Keys) == 0
	for _, key := range o.Keys {
		k.names[key.Digest] = key.Name
		if key.Admin {
			k.admin[key.Digest] = true
		} else {
			k.users[key.Digest] = true
		}
	}
	senders := len(k.names) // and, where no key is needed, one for all requests without a key
	if !k.asks {
		senders++
	}
	k.apart = !o.SharePrefixCache && senders > 1
	return k
}

// sender is who has sent a request, as its key says.
type sender struct {
	role  role
	key   string // short digest of the key, "" for an unknown one or none
	name  string // of the key, "" for none
	cache string // owner of the prefix cache, "" for the common one
}

// identify returns the sender of a request. Without an admin key, the only API key has
// that role, and so has every request if there are no keys. With several API keys none of
// them has it: it would affect the others. Named keys have the rights that they were given.
func (k *keyring) identify(r *http.Request) sender {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		sent = ""
	}
	digest := sha256.Sum256([]byte(sent))
	isAdmin, isUser := k.admin.has(&digest), k.users.has(&digest)
	if sent == "" { // matches no key, not even an empty one in the settings
		isAdmin, isUser = false, false
	}
	known := sender{role: user, key: hex.EncodeToString(digest[:8]), name: k.names[digest]}
	if k.apart {
		known.cache = hex.EncodeToString(digest[:])
	}
	switch {
	case isAdmin, isUser && k.soleAdmin:
		known.role = admin
		return known
	case isUser:
		return known
	case k.asks:
		return sender{}
	case len(k.admin) > 0:
		return sender{role: user}
	}
	return sender{role: admin}
}

// withKey rejects requests without access, and notes the key of the others.
func (s *Server) withKey(needed access, next handler) handler {
	if needed == forAnyone {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		who := s.rulesFor(r.Context()).keys.identify(r)
		if who.role == stranger {
			return unauthorized(w, "the API key is missing or wrong; send it as Authorization: Bearer KEY")
		}
		t := trailOf(r.Context())
		t.sender = who
		if needed == forAdmin {
			if err := s.needsAdmin(w, r, r.URL.Path); err != nil {
				return err
			}
		}
		return next(w, r)
	}
}

// needsAdmin rejects callers without the admin key from what affects all clients.
func (s *Server) needsAdmin(w http.ResponseWriter, r *http.Request, what string) *apiError {
	t, keys := trailOf(r.Context()), s.rulesFor(r.Context()).keys
	switch {
	case t.role == admin:
		return nil
	case t.key == "":
		return unauthorized(w, "%s requires the admin key; send it as Authorization: Bearer KEY", what)
	case len(keys.admin) > 0:
		return forbidden("%s affects all clients and requires the admin key", what)
	case keys.filed:
		return forbidden("%s affects all clients and is disabled, because no key of api-keys-file has the rights admin; give one of them these rights, or start the server with admin-api-key", what)
	}
	return forbidden("%s affects all clients and is disabled, because the server has several API keys but no admin key; start it with admin-api-key, or give a key of api-keys-file the rights admin", what)
}

func unauthorized(w http.ResponseWriter, format string, args ...any) *apiError {
	w.Header().Set("WWW-Authenticate", "Bearer")
	return newError(http.StatusUnauthorized).coded("invalid_api_key").say(format, args...)
}

func forbidden(format string, args ...any) *apiError {
	return newError(http.StatusForbidden).coded("admin_key_required").say(format, args...)
}

// follow hides from new keys what old keys have cached: after any change each key
// has its own cache, because the common one has prefixes of former senders.
func (k *keyring) follow(old *keyring, share bool) {
	same := maps.Equal(k.users, old.users) && maps.Equal(k.admin, old.admin)
	k.apart = !share && (k.apart || old.apart || !same)
}
