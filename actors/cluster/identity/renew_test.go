package identity

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched is an identity with a clock, and what its notices said.
type watched struct {
	*Identity
	at   clock
	said []string
}

func watch(t *testing.T, files Files, cluster string) *watched {
	t.Helper()
	w := &watched{}
	id, err := load(files, cluster, w.at.now)
	if err != nil {
		t.Fatal(err)
	}
	id.Notify(Notices{
		Renewed:    func(time.Time) { w.said = append(w.said, "renewed") },
		NotRenewed: func(err error) { w.said = append(w.said, "not renewed: "+err.Error()) },
		Expiring:   func(time.Time) { w.said = append(w.said, "expiring") },
		Expired:    func(time.Time) { w.said = append(w.said, "expired") },
	})
	w.Identity = id
	return w
}

// look is a handshake's look after more than a second. It returns what was said.
func (w *watched) look() string {
	w.at.advance(lookEvery)
	w.Look()
	said := strings.Join(w.said, "; ")
	w.said = nil
	return said
}

func TestRenewedFilesAreUsed(t *testing.T) {
	dir := made(t, "prod", "gw1")
	w := watch(t, FilesOf(dir, "gw1"), "prod")
	old := w.current().cert.Certificate[0]
	if said := w.look(); said != "" {
		t.Errorf("without a change: %s", said)
	}
	create(t, dir, "prod", CreateOptions{Force: true, Validity: 48 * time.Hour}, "gw1")
	w.Look() // within the second
	if !bytes.Equal(w.used.Load().cert.Certificate[0], old) {
		t.Error("the files were read twice within a second")
	}
	if said := w.look(); said != "renewed; expiring" {
		t.Errorf("after the renewal: %q", said)
	}
	if bytes.Equal(w.current().cert.Certificate[0], old) {
		t.Error("the old certificate is still in use")
	}
	if left := time.Until(w.Expires()); left > 48*time.Hour {
		t.Errorf("expires in %s", left)
	}
}

// Kubernetes and tools that keep times replace files by others of equal time and size.
func TestRenewedFilesOfTheSameTime(t *testing.T) {
	dir := made(t, "prod", "gw1", "gw2")
	at := time.Now().Add(-time.Hour)
	files := FilesOf(dir, "gw1")
	other := FilesOf(dir, "gw2")
	for _, f := range []string{files.Cert, files.Key, other.Cert, other.Key} {
		text := append(bytes.Clone(get(t, f)), make([]byte, 2000)...)
		put(t, f, text[:2000]) // after the PEM part, zeros
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
	w := watch(t, files, "prod")
	move(t, other.Cert, files.Cert)
	move(t, other.Key, files.Key)
	if said := w.look(); said != "renewed" {
		t.Errorf("said %q", said)
	}
}

// A broken file is reported once, when it stays broken for two looks. The old
// certificate stays in use, until the files are right again.
func TestBrokenRenewedFiles(t *testing.T) {
	for name, damage := range map[string]struct {
		do   func(Files)
		want string
	}{
		"cut off":      {func(f Files) { put(t, f.Cert, get(t, f.Cert)[:100]) }, "damaged or incomplete"},
		"removed":      {func(f Files) { move(t, f.Key, f.Key+".old") }, "cluster-tls-key: cannot open "},
		"key of other": {func(f Files) { put(t, f.Key, get(t, FilesOf(filepath.Dir(f.Key), "gw2").Key)) }, "is not the key of"},
		"other CA":     {func(f Files) { put(t, f.CA, get(t, FilesOf(made(t, "prod"), "").CA)) }, "is not signed by the CA"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t, "prod", "gw1", "gw2")
			files := FilesOf(dir, "gw1")
			kept := contents(t, dir)
			w := watch(t, files, "prod")
			before := w.used.Load()
			damage.do(files)
			if said := w.look(); said != "" {
				t.Errorf("the first look says %s; the files may be half copied", said)
			}
			if said := w.look(); !strings.HasPrefix(said, "not renewed: ") || !strings.Contains(said, damage.want) {
				t.Errorf("the second look says %q, want %s", said, damage.want)
			}
			for range 3 {
				if said := w.look(); said != "" {
					t.Errorf("a later look says %s", said)
				}
			}
			if w.current() != before {
				t.Error("the old certificate is not in use any more")
			}
			put(t, files.Cert, []byte("broken in another way"))
			w.look()
			if said := w.look(); !strings.Contains(said, "not renewed: ") {
				t.Errorf("another change: %q", said)
			}
			for name, text := range kept {
				put(t, filepath.Join(dir, name), []byte(text))
			}
			if said := w.look(); said != "renewed" {
				t.Errorf("the repaired files: %q", said)
			}
		})
	}
}

// A certificate that is not valid yet is taken into use when it is, without a change
// of its file.
func TestARenewedCertificateOfTheFuture(t *testing.T) {
	dir := made(t, "prod", "gw1")
	w := watch(t, FilesOf(dir, "gw1"), "prod")
	kept := get(t, FilesOf(dir, "gw1").Cert)
	create(t, dir, "prod", CreateOptions{Force: true}, "gw1")
	w.at.advance(-2 * time.Hour) // the new certificate begins an hour ago
	w.looked = w.at.now().Add(-time.Hour)
	w.look()
	if said := w.look(); !strings.Contains(said, "is not valid before") {
		t.Errorf("said %q", said)
	}
	w.at.advance(2 * time.Hour)
	if said := w.look(); said != "renewed" {
		t.Errorf("said %q", said)
	}
	if bytes.Equal(kept, get(t, FilesOf(dir, "gw1").Cert)) {
		t.Error("the file is the same")
	}
}

func TestExpiryIsAnnouncedDaily(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, "prod", CreateOptions{Validity: 10 * 24 * time.Hour}, "gw1")
	w := watch(t, FilesOf(dir, "gw1"), "prod")
	w.at.advance(3*24*time.Hour - time.Minute)
	if said := w.look(); said != "" {
		t.Errorf("with more than 7 days left: %s", said)
	}
	w.at.advance(time.Minute)
	warned := map[string]int{}
	for range 9 * 24 { // each hour of nine days, two of them after the end
		if said := w.look(); said != "" {
			warned[said]++
		}
		w.at.advance(time.Hour)
	}
	if want := map[string]int{"expiring": 7, "expired": 2}; !maps.Equal(warned, want) {
		t.Errorf("warnings in 9 days: %v, want %v", warned, want)
	}
}

// The end is announced when it is there, also within a day after a warning.
func TestTheEndIsAnnouncedAtOnce(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, "prod", CreateOptions{Validity: 24 * time.Hour}, "gw1")
	w := watch(t, FilesOf(dir, "gw1"), "prod")
	for _, want := range []string{"expiring", "", "expired", ""} {
		if said := w.look(); said != want {
			t.Errorf("said %q, want %q", said, want)
		}
		w.at.advance(12 * time.Hour)
	}
}
