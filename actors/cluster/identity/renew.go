package identity

import (
	"os"
	"time"
)

const (
	lookEvery  = time.Second
	warnBefore = 7 * 24 * time.Hour
	warnEvery  = 24 * time.Hour
)

// stamps tell whether files have changed. nil: the file cannot be found.
type stamps [3]os.FileInfo

func stampsOf(files Files) (s stamps) {
	for i, file := range []string{files.CA, files.Cert, files.Key} {
		if info, err := os.Stat(file); err == nil {
			s[i] = info
		}
	}
	return s
}

func (s stamps) same(other stamps) bool {
	for i, a := range s {
		b := other[i]
		if (a == nil) != (b == nil) {
			return false
		}
		// A file that was replaced by rename may have the time and size of the old one.
		if a != nil && (a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()) || !os.SameFile(a, b)) {
			return false
		}
	}
	return true
}

// failing is what was wrong at the last look. Its zero value: nothing.
type failing struct {
	seen, reported bool
	stamps         stamps
}

// Look takes renewed files into use, and warns of a certificate that expires soon.
// Every handshake calls it. So that a node without handshakes warns as well, its
// owner calls it from time to time, such as every hour. It looks at the files at most
// once per second.
func (id *Identity) Look() {
	// Handshakes during a look go on with the certificate in use: a slow file system
	// delays only one of them.
	if !id.renewing.TryLock() {
		return
	}
	defer id.renewing.Unlock()
	now := id.now()
	if now.Sub(id.looked) < lookEvery {
		return
	}
	id.looked = now
	id.renew(now)
	id.warn(now)
}

// warn says once a day that the certificate expires soon or has expired, and the latter
// at once.
func (id *Identity) warn(now time.Time) {
	expires := id.Expires()
	expired := !now.Before(expires)
	if expires.Sub(now) >= warnBefore || now.Sub(id.warned) < warnEvery && !(expired && id.warned.Before(expires)) {
		return
	}
	id.warned = now
	f := id.notices.Expiring
	if expired {
		f = id.notices.Expired
	}
	if f != nil {
		f(expires)
	}
}

// renew reads the files if they have changed. Files are copied one after another, so
// for a moment a new key may be beside an old certificate: an error is reported only
// if it is still there at the next look.
func (id *Identity) renew(now time.Time) {
	found := stampsOf(id.files)
	if found.same(id.used.Load().stamps) {
		id.failing = failing{}
		return
	}
	m, err := read(id.files, id.cluster, now)
	switch {
	case err == nil:
		id.used.Store(m)
		id.failing = failing{}
		if f := id.notices.Renewed; f != nil {
			f(m.expires)
		}
	case !id.failing.seen || !found.same(id.failing.stamps):
		id.failing = failing{seen: true, stamps: found}
	case !id.failing.reported:
		id.failing.reported = true
		if f := id.notices.NotRenewed; f != nil {
			f(err)
		}
	}
}

// current is the certificate in use, after a look at the files.
func (id *Identity) current() *material {
	id.Look()
	return id.used.Load()
}
