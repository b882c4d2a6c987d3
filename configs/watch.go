package configs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing must have happened in the folders of a file
	// before it is read: an editor writes it in several steps.
	quiet = 200 * time.Millisecond
	// patience is after how long it is read in any case: other programs may
	// write into the same folder all the time.
	patience = 10 * quiet
)

// Watch calls changed each time when the config file has another text than
// before, at first than when it was loaded. A file that is gone counts as
// another text. changed is called from one goroutine, which stop ends. Without a
// file there is nothing to watch.
func (c *Config) Watch(changed func()) (stop func(), err error) {
	if c.file == nil || c.file.name == "" {
		return func() {}, nil
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("config file %s cannot be watched: %w", c.file.name, err)
	}
	w := &watch{file: c.file.name, text: c.file.text, there: true, events: events.Events, errors: events.Errors, changed: changed,
		follow: func(folders []string) error { return follow(events, folders) }}
	if err := w.follow(folders(w.file)); err != nil {
		events.Close()
		return nil, fmt.Errorf("config file %s cannot be watched: %w", c.file.name, err)
	}
	var running sync.WaitGroup
	running.Go(w.run)
	return func() {
		events.Close() // closes its channels
		running.Wait()
	}, nil
}

// watch compares a file with its last known text after events in its folders. So
// a write in place, a replacement by rename and a link that changes its target
// are one case.
type watch struct {
	file    string
	text    []byte
	there   bool // the file could be read
	events  <-chan fsnotify.Event
	errors  <-chan error
	changed func()
	follow  func(folders []string) error // watches these folders and no others
}

// run returns when events is closed. It begins with a look, since the file may
// have changed after it was loaded.
func (w *watch) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first time.Time // of the events not yet looked at; zero: none
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod { // no other text
				continue
			}
			if first.IsZero() {
				first = time.Now()
			}
			timer.Reset(min(quiet, time.Until(first.Add(patience))))
		case _, ok := <-w.errors: // events were lost
			if !ok {
				return
			}
			timer.Reset(quiet)
		case <-timer.C:
			first = time.Time{}
			w.look()
		}
	}
}

// look tells of another text. The folders come first: what changes after they
// are watched makes an event.
func (w *watch) look() {
	_ = w.follow(folders(w.file)) // a folder that is gone makes the file unreadable, too
	text, err := os.ReadFile(w.file)
	if there := err == nil; there != w.there || !bytes.Equal(text, w.text) {
		w.text, w.there = text, there
		w.changed()
	}
}

// follow watches new folders and forgets the others.
func follow(events *fsnotify.Watcher, folders []string) error {
	for _, folder := range folders {
		if err := events.Add(folder); err != nil { // again does no harm
			return err
		}
	}
	for _, folder := range events.WatchList() {
		if !slices.Contains(folders, folder) {
			_ = events.Remove(folder) // it may be gone already
		}
	}
	return nil
}

// maxLinks bounds links that lead to links, as the system does.
const maxLinks = 40

// folders are those in which a change can give a file another text: the folder
// of the file and of every link on the way to it.
func folders(file string) (list []string) {
	path, err := filepath.Abs(file)
	if err != nil { // the working directory is gone
		return nil
	}
	add := func(folder string) {
		if !slices.Contains(list, folder) {
			list = append(list, folder)
		}
	}
	for range maxLinks {
		folder := filepath.VolumeName(path) + string(filepath.Separator)
		parts := strings.Split(strings.TrimPrefix(path, folder), string(filepath.Separator))
		for i, part := range parts {
			at := filepath.Join(folder, part)
			target, err := os.Readlink(at)
			if err != nil { // no link
				folder = at
				continue
			}
			add(folder)
			if !filepath.IsAbs(target) {
				target = filepath.Join(folder, target)
			}
			path = filepath.Join(append([]string{target}, parts[i+1:]...)...)
			folder = ""
			break
		}
		if folder != "" {
			add(filepath.Dir(path))
			return list
		}
	}
	return list
}
