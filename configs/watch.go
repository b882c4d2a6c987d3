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
	quiet    = 200 * time.Millisecond // pause in events before a file is read: editors write in several steps
	patience = 10 * quiet             // limits this wait: other programs may keep writing to the same folder
)

// Watches are the files of settings that are watched. Its methods are for one goroutine.
type Watches struct {
	changed    func(what string)
	file, keys *watch // nil: there is no such file
}

// Watch calls changed whenever the text of the config file, or of the file of API keys,
// differs from the last known text, at first the loaded one. A missing file counts as a
// different text. changed gets which file it was, in words; it is called from one goroutine
// for each file, which Stop ends.
// Without a file, Watch does nothing.
func (c *Config) Watch(changed func(what string)) (*Watches, error) {
	w := &Watches{changed: changed}
	if c.file != nil && c.file.name != "" {
		w.file = &watch{file: c.file.name, text: c.file.text, changed: func() { changed("the config file") }}
		if err := w.file.start(); err != nil {
			return nil, err
		}
	}
	if err := w.Follow(c); err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

// Follow watches the file of API keys that the settings name now. Call it whenever the
// settings have changed. After an error no such file is watched.
func (w *Watches) Follow(c *Config) error {
	if w.keys != nil && w.keys.file == c.KeysFile {
		return nil
	}
	w.keys.end()
	w.keys = nil
	if c.KeysFile == "" {
		return nil
	}
	keys := &watch{file: c.KeysFile, text: c.keysText, changed: func() { w.changed("the file of API keys") }}
	if err := keys.start(); err != nil {
		return err
	}
	w.keys = keys
	return nil
}

// Stop ends all watches.
func (w *Watches) Stop() {
	w.file.end()
	w.keys.end()
}

// start watches a file that was there when its text was read.
func (w *watch) start() error {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("file %s cannot be watched: %w", w.file, err)
	}
	w.events, w.errors, w.there = events.Events, events.Errors, true
	w.follow = func(folders []string) error { return follow(events, folders) }
	if err := w.follow(folders(w.file)); err != nil {
		events.Close()
		return fmt.Errorf("file %s cannot be watched: %w", w.file, err)
	}
	var running sync.WaitGroup
	running.Go(w.run)
	w.stop = func() {
		events.Close() // closes its channels
		running.Wait()
	}
	return nil
}

// end is for a watch that start has begun, and for nil.
func (w *watch) end() {
	if w != nil {
		w.stop()
	}
}

// watch compares a file with its last known text after events in its folders. That
// covers writes in place, replacement by rename, and links that change their target.
type watch struct {
	file    string
	text    []byte
	there   bool // the file could be read
	events  <-chan fsnotify.Event
	errors  <-chan error
	changed func()
	follow  func(folders []string) error // watches these folders and no others
	stop    func()                       // ends it, and waits for its goroutine
}

// run ends when events is closed. It looks first: the file may have changed since Load.
func (w *watch) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first time.Time // first event since the last look; zero: none
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod { // the text is the same
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

// look reports a different text. It watches before it reads, so that no change is missed.
func (w *watch) look() {
	_ = w.follow(folders(w.file)) // if a folder is missing, so is the file
	text, err := os.ReadFile(w.file)
	if there := err == nil; there != w.there || !bytes.Equal(text, w.text) {
		w.text, w.there = text, there
		w.changed()
	}
}

func follow(events *fsnotify.Watcher, folders []string) error {
	for _, folder := range folders {
		if err := events.Add(folder); err != nil { // adding twice is allowed
			return err
		}
	}
	for _, folder := range events.WatchList() {
		if !slices.Contains(folders, folder) {
			_ = events.Remove(folder) // it may be deleted
		}
	}
	return nil
}

// maxLinks limits chains of links, as the system does.
const maxLinks = 40

// folders returns the folders of a file and of every link on the path to it.
func folders(file string) (list []string) {
	path, err := filepath.Abs(file)
	if err != nil { // the working directory was deleted
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
