// Package hub finds models by name on Hugging Face's hub and keeps them in its cache
// directory, which it shares with Hugging Face's own libraries.
//
// The protocol is plain HTTP: a revision is resolved to a commit, the commit's tree lists
// files with sizes and hashes, and files come by range requests, often from a content
// delivery network that the hub redirects to. Nothing that the hub sends is trusted: paths
// stay inside the cache, sizes and hashes are checked before a file gets its name.
//
// # Parts
//
//	hub, pull                     a Hub and its Options; Pull: from a name to a path that can be loaded
//	name                          ORG/REPO:QUANT@REVISION
//	environment                   the variables of Hugging Face's libraries
//	client, redirect, errors      requests with bounded retries; redirects without the token; errors with remedies
//	tree, paths                   the files of a commit; paths that are safe on any system
//	choose, gguf                  the files that are needed; quantisations and parts
//	cache, write, lock            the directory; links and references; locks beside other processes
//	blob, partial, pieces         one file of it: checked; resumable; ranges side by side
//	stored, remove                what the cache has
//	room_unix, room_windows       free space on a disk
//	writeback_linux, _other       bytes on their way to the disk while more come
package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Options of a Hub. The zero values are for the hub of Hugging Face and its own cache.
type Options struct {
	Environment
	// Progress is called often while files are downloaded or checked. It must be quick.
	Progress func(Progress)
	// Warn gets notes such as "the hub cannot be reached. Using the cached files".
	Warn func(text string)
	// Transport carries the requests; nil: a new one of net/http.
	Transport http.RoundTripper
	// Roots are trusted to certify the hosts of https; nil: those of the system.
	Roots *x509.CertPool
	// Room returns the free bytes of the disk with a path; nil: asks the system.
	Room func(path string) (int64, error)
	// Link makes a symbolic link; nil: os.Symlink. Where it fails, files lie in the
	// directories of commits themselves.
	Link func(to, path string) error
	// Lock tries to take a lock; nil: flock(2). Where it returns errors.ErrUnsupported, there
	// are no locks.
	Lock func(file *flock.Flock, shared bool) (taken bool, err error)
	// Check, if not nil, gets the directory of a model once config.json is in it, before
	// anything large is downloaded. Its error ends the pull.
	Check func(directory string) error
	// Wait pauses between two attempts; nil: time passes. For tests.
	Wait func(ctx context.Context, d time.Duration) error
}

// Progress is the state of a pull.
type Progress struct {
	File        string // being downloaded; "" at the end
	Files       int    // all that are needed
	FilesDone   int
	Done, Total int64 // bytes of all files, those in the cache included
}

// Hub is a client of a hub and its cache. Its methods are safe for concurrent use; several
// processes may use one cache.
type Hub struct {
	opt     Options
	cache   cache
	noLocks sync.Once // warns
}

// New returns a client. It opens no connection.
func New(opt Options) *Hub {
	if opt.Transport == nil {
		opt.Transport = transport(&opt)
	}
	if opt.Room == nil {
		opt.Room = freeBytes
	}
	if opt.Link == nil {
		opt.Link = os.Symlink
	}
	if opt.Lock == nil {
		opt.Lock = flocked
	}
	if opt.Wait == nil {
		opt.Wait = wait
	}
	if opt.Warn == nil {
		opt.Warn = func(string) {}
	}
	if opt.Progress == nil {
		opt.Progress = func(Progress) {}
	}
	return &Hub{opt: opt, cache: cache{opt.Cache}}
}

// transport speaks HTTP/1.1 only, because ranges side by side are faster over connections
// of their own. It is not a clone of http.DefaultTransport, whose TLS settings offer HTTP/2.
func transport(opt *Options) *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: opt.Roots},
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  opt.headerTimeout(),
		MaxResponseHeaderBytes: 256 << 10,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    flights + 1,
		DisableCompression:     true, // sizes and hashes are of the files themselves
		ReadBufferSize:         64 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
