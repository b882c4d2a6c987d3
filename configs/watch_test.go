package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Events are collected until the folder is quiet, for at most two seconds, and only a
// different text counts. Time is virtual.
func TestWatchWaitsUntilAFileIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("port: 1")
	synctest.Test(t, func(t *testing.T) {
		events := make(chan fsnotify.Event)
		var calls atomic.Int64
		w := &watch{file: file, text: []byte("port: 1"), there: true, events: events, changed: func() { calls.Add(1) }, follow: func([]string) error { return nil }}
		go w.run()
		expect := func(want int64, what string) {
			t.Helper()
			synctest.Wait()
			if got := calls.Load(); got != want {
				t.Errorf("%s: %d calls, want %d", what, got, want)
			}
		}
		event := func() { events <- fsnotify.Event{Name: file, Op: fsnotify.Write} }
		expect(0, "at the start, with the same text")

		write("po")
		event()
		time.Sleep(quiet / 2)
		write("port: 2")
		event()
		time.Sleep(quiet - 1)
		expect(0, "while it is written")
		time.Sleep(time.Nanosecond)
		expect(1, "when it is written")

		event()
		time.Sleep(quiet)
		expect(1, "the same text again")
		write("port: 3")
		events <- fsnotify.Event{Name: file, Op: fsnotify.Chmod}
		time.Sleep(time.Hour)
		expect(1, "a change of permissions")

		for range 2 * patience / quiet {
			event()
			time.Sleep(quiet / 2)
		}
		expect(2, "in a folder that is never quiet")
		time.Sleep(quiet)

		must(t, os.Remove(file))
		event()
		time.Sleep(quiet)
		expect(3, "removed")
		event()
		time.Sleep(quiet)
		expect(3, "still removed")
		write("port: 3")
		event()
		time.Sleep(quiet)
		expect(4, "back again")
		close(events)
	})
}

// A change between loading and watching is seen at once.
func TestWatchBeginsWithALook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	must(t, os.WriteFile(file, []byte("port: 1"), 0o600))
	c, err := Load(file, nil)
	must(t, err, os.WriteFile(file, []byte("port: 2"), 0o600))
	changed := make(chan bool, 10)
	watches, err := c.Watch(func(string) { changed <- true })
	must(t, err)
	defer watches.Stop()
	<-changed
}

// The watch notices every way to change the text of a file: each scene ends with a text
// that the test waits for.
func TestWatchSeesEveryKindOfChange(t *testing.T) {
	scenes := map[string]func(t *testing.T, dir string) (file string, change func(text string)){
		"written in place": func(t *testing.T, dir string) (string, func(string)) {
			file := filepath.Join(dir, "troupe.yaml")
			return file, func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
		},
		"replaced by rename": func(t *testing.T, dir string) (string, func(string)) {
			file := filepath.Join(dir, "troupe.yaml")
			return file, func(text string) {
				must(t, os.WriteFile(file+"~", []byte(text), 0o600), os.Rename(file+"~", file))
			}
		},
		"removed and created": func(t *testing.T, dir string) (string, func(string)) {
			file := filepath.Join(dir, "troupe.yaml")
			return file, func(text string) {
				_ = os.Remove(file) // not there the first time
				must(t, os.WriteFile(file, []byte(text), 0o600))
			}
		},
		"a config map of Kubernetes": func(t *testing.T, dir string) (string, func(string)) {
			version := 0
			must(t, os.Symlink(filepath.Join("..data", "troupe.yaml"), filepath.Join(dir, "troupe.yaml")))
			return filepath.Join(dir, "troupe.yaml"), func(text string) {
				version++
				old := strconv.Itoa(version - 1)
				now := strconv.Itoa(version)
				must(t, os.Mkdir(filepath.Join(dir, now), 0o700), os.WriteFile(filepath.Join(dir, now, "troupe.yaml"), []byte(text), 0o600),
					os.Symlink(now, filepath.Join(dir, "..data_tmp")), os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")),
					os.RemoveAll(filepath.Join(dir, old)))
			}
		},
		"behind a link": func(t *testing.T, dir string) (string, func(string)) {
			must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700), os.Mkdir(filepath.Join(dir, "b"), 0o700),
				os.Symlink(filepath.Join(dir, "b", "real"), filepath.Join(dir, "a", "troupe.yaml")))
			return filepath.Join(dir, "a", "troupe.yaml"), func(text string) {
				must(t, os.WriteFile(filepath.Join(dir, "b", "real"), []byte(text), 0o600))
			}
		},
		"in a folder that is a link": func(t *testing.T, dir string) (string, func(string)) {
			version := 0
			return filepath.Join(dir, "current", "troupe.yaml"), func(text string) {
				version++
				now := strconv.Itoa(version)
				must(t, os.Mkdir(filepath.Join(dir, now), 0o700), os.WriteFile(filepath.Join(dir, now, "troupe.yaml"), []byte(text), 0o600),
					os.Symlink(now, filepath.Join(dir, "next")), os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "current")))
			}
		},
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, change := scene(t, t.TempDir())
			change("port: 1")
			c, err := Load(file, nil)
			must(t, err)
			changed := make(chan bool, 1)
			watches, err := c.Watch(func(string) {
				select {
				case changed <- true:
				default:
				}
			})
			must(t, err)
			defer watches.Stop()
			for port := 2; port < 5; port++ {
				change("port: " + strconv.Itoa(port))
				for {
					<-changed
					if now, err := Load(file, nil); err == nil && now.HTTP.Port == port {
						break
					}
				}
			}
		})
	}
}

func TestFoldersOfLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	must(t, os.MkdirAll(at("v1", "x"), 0o700), os.Symlink("v1", at("current")), os.WriteFile(at("v1", "x", "f"), nil, 0o600),
		os.Symlink(at("current", "x", "f"), at("link")), os.Symlink(at("loop"), at("loop")))
	for file, want := range map[string][]string{
		at("v1", "x", "f"):      {at("v1", "x")},
		at("current", "x", "f"): {dir, at("v1", "x")},
		at("link"):              {dir, at("v1", "x")},
		at("loop"):              {dir},
		at("no", "such"):        {at("no")},
	} {
		if got := folders(file); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// Without a file there is nothing to watch.
func TestWatchWithoutAFile(t *testing.T) {
	for _, c := range []*Config{Default(), {}} {
		watches, err := c.Watch(func(string) { t.Error("called") })
		must(t, err)
		watches.Stop()
	}
	c, err := Load("", nil)
	must(t, err)
	watches, err := c.Watch(func(string) { t.Error("called") })
	must(t, err)
	watches.Stop()
}
