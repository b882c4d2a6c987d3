package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// scheduling are the parameters of every generating endpoint for order and sharing.
type scheduling struct {
	User     *string `json:"user"`
	Priority *int32  `json:"priority"` // higher goes first, unless a setting reverses it
	// CacheSalt and ExtraKey separate prefixes that must not be shared.
	CacheSalt string `json:"cache_salt"`
	ExtraKey  string `json:"extra_key"`
}

// submission has what all requests of a call share.
func (s *Server) submission(ctx context.Context, p *scheduling) messages.Submission {
	return messages.Submission{Namespace: p.namespace(trailOf(ctx).cache), Tenant: s.tenant(ctx, p.User), Priority: given(p.Priority, 0)}
}

// maxNamespace is how many bytes of salt and extra key are kept as they are.
const maxNamespace = 1024

// namespace names the requests that share cached prefixes. Different triples of owner,
// salt and extra key have different names, whatever a client writes:
//
//	salt                                  no extra key, no zero byte in the salt
//	salt 0 extra key 0 length of the key  else; the end says where the key begins
//	0 digest 0 long                       for one of the two that is long
//	one of these 0 owner 0 key            with an owner, a digest of fixed length
//
// The first has no zero byte, the second ends with a digit, the others with their words.
// A long name would travel with the request, and engines accept only short texts.
func (p *scheduling) namespace(owner string) string {
	space := p.CacheSalt
	if p.ExtraKey != "" || strings.Contains(p.CacheSalt, "\x00") {
		space = fmt.Sprintf("%s\x00%s\x00%d", p.CacheSalt, p.ExtraKey, len(p.ExtraKey))
	}
	if len(space) > maxNamespace {
		sum := sha256.Sum256([]byte(space))
		space = "\x00" + hex.EncodeToString(sum[:]) + "\x00long"
	}
	if owner != "" {
		space += "\x00" + owner + "\x00key"
	}
	return space
}

// The values of Options.TenantFrom.
const (
	TenantAuto = "auto" // the API key if the server has any, else the user
	TenantKey  = "api-key"
	TenantUser = "user"
)

// tenant is the owner of a request's fair share: a digest, which hides key and user.
func (s *Server) tenant(ctx context.Context, user *string) string {
	o := s.rulesFor(ctx)
	if o.TenantFrom == TenantKey || o.TenantFrom != TenantUser && o.keys.asks {
		return trailOf(ctx).key
	}
	if name := given(user, ""); name != "" {
		return digest([]byte(name))
	}
	return ""
}

// digest is a short name of something that must not be shown.
func digest(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:8])
}
