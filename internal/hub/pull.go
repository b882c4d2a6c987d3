package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-engine/troupe/internal/units"
)

// Pulled is a model in the cache.
type Pulled struct {
	Path   string // what a loader opens: a directory, or a GGUF file
	Commit string
	Files  []File // those that it needs
	Bytes  int64  // of these files
	Loaded int64  // of them, what was downloaded now
}

// Pull makes sure that the cache has a model. If the hub cannot be reached or refuses
// access, or in offline mode, the cached files are used.
func (h *Hub) Pull(ctx context.Context, n Name) (*Pulled, error) {
	if h.opt.Offline {
		p, err := h.Cached(n)
		if err != nil {
			return nil, fmt.Errorf("%w; HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, so it is not downloaded", err)
		}
		return p, nil
	}
	cached, none := h.Cached(n)
	p, err := h.pull(ctx, n, none == nil)
	if err == nil || none != nil || ctx.Err() != nil || !cacheWillDo(err) {
		return p, err
	}
	h.opt.Warn(fmt.Sprintf("%v. Using the cached files of %s", err, n))
	return cached, nil
}

// pull downloads what the cache lacks. With cached it gives up soon if there is no network.
func (h *Hub) pull(ctx context.Context, n Name, cached bool) (*Pulled, error) {
	commit, err := h.commit(ctx, n, cached)
	if err != nil {
		return nil, err
	}
	// Removals are kept away until everything has its name.
	unlock, unlocked := h.lock(ctx, h.cache.lockOfAll(n), true, fmt.Sprintf("another process is removing files of %s from the cache. Waiting for it", n.Repository()))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if unlocked == nil {
		defer unlock()
	}
	files, err := h.tree(ctx, n, commit, cached)
	if err != nil {
		return nil, err
	}
	c, err := choose(n, files)
	if err != nil {
		return nil, err
	}
	job := &pullJob{hub: h, name: n, commit: commit, unlocked: unlocked}
	if err := job.check(ctx, c.files); err != nil {
		return nil, err
	}
	if c.shards { // the index says which weights there are
		last := len(c.files) - 1
		if err := job.fetch(ctx, c.files[last:]); err != nil {
			return nil, err
		}
		index, err := os.ReadFile(filepath.Join(h.cache.snapshot(n, commit), indexName))
		if err != nil {
			return nil, fmt.Errorf("the cache cannot be read: %w", err)
		}
		shards, err := shardsIn(index, files)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, shards...)
	}
	if err := job.fetch(ctx, c.files); err != nil {
		return nil, err
	}
	if err := h.cache.setRef(n, n.revision(), commit); err != nil {
		return nil, err
	}
	return h.pulled(n, commit, c, job.loaded), nil
}

func (h *Hub) pulled(n Name, commit string, c *choice, loaded int64) *Pulled {
	p := &Pulled{Path: h.cache.snapshot(n, commit), Commit: commit, Files: c.files, Loaded: loaded}
	if c.entry != "" {
		p.Path = filepath.Join(p.Path, filepath.FromSlash(c.entry))
	}
	for _, f := range c.files {
		p.Bytes += f.Size
	}
	return p
}

// Cached returns a model as the cache has it, without any connection.
func (h *Hub) Cached(n Name) (*Pulled, error) {
	commit := h.cache.commitOf(n, n.revision())
	if commit == "" {
		return nil, fmt.Errorf("%s is not in the cache %s", n, h.cache.dir)
	}
	files, err := h.cache.files(n, commit)
	if err != nil {
		return nil, fmt.Errorf("the cache cannot be read: %w", err)
	}
	c, err := h.chosen(n, commit, files)
	if err != nil {
		return nil, fmt.Errorf("the cache %s has only a part of %s: %w", h.cache.dir, n, err)
	}
	return h.pulled(n, commit, c, 0), nil
}

// chosen is what is needed of the cached files of a commit, an error if some are missing.
func (h *Hub) chosen(n Name, commit string, files []File) (*choice, error) {
	c, err := choose(n, files)
	if err == nil && c.shards {
		var index []byte
		if index, err = os.ReadFile(filepath.Join(h.cache.snapshot(n, commit), indexName)); err == nil {
			var shards []File
			shards, err = shardsIn(index, files)
			c.files = append(c.files, shards...)
		}
	}
	return c, err
}

// pullJob downloads the files of one commit.
type pullJob struct {
	hub    *Hub
	name   Name
	commit string
	// unlocked is why the repository could not be locked. It does not matter for a complete
	// model, which may be in a cache that can only be read.
	unlocked error
	loaded   int64 // bytes downloaded
}

// check downloads config.json, if there is one, and has it checked.
func (j *pullJob) check(ctx context.Context, files []File) error {
	at := slices.IndexFunc(files, func(f File) bool { return f.Path == configName })
	if at < 0 || j.hub.opt.Check == nil {
		return nil
	}
	if err := j.fetch(ctx, files[at:at+1]); err != nil {
		return err
	}
	return j.hub.opt.Check(j.hub.cache.snapshot(j.name, j.commit))
}

// fetch downloads the files that the cache lacks, small ones first, and links each.
func (j *pullJob) fetch(ctx context.Context, files []File) error {
	cache, state := j.hub.cache, Progress{Files: len(files)}
	var missing []File
	for _, f := range files {
		state.Total += f.Size
		if cache.has(j.name, j.commit, f) {
			state.Done += f.Size
			state.FilesDone++
		} else {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 && j.unlocked != nil {
		return j.unlocked
	}
	if err := j.room(missing); err != nil {
		return err
	}
	slices.SortStableFunc(missing, func(a, b File) int { return min(max(int(a.Size>>20)-int(b.Size>>20), -1), 1) })
	for _, f := range missing {
		state.File = f.Path
		j.hub.opt.Progress(state)
		loaded, err := j.hub.fetchFile(ctx, j.name, j.commit, f, func(bytes int64) {
			state.Done += bytes
			j.hub.opt.Progress(state)
		})
		j.loaded += loaded
		if err != nil {
			return j.stopped(err, state)
		}
		state.FilesDone++
	}
	for _, f := range files { // other programs know nothing of the lock
		if !cache.has(j.name, j.commit, f) {
			return fmt.Errorf("%s of %s was removed from the cache during the download; pull again", f.Path, j.name)
		}
	}
	state.File = ""
	j.hub.opt.Progress(state)
	return nil
}

// stopped adds to the error of a download what to do, if another attempt continues it.
func (j *pullJob) stopped(err error, state Progress) error {
	const again = "what has been downloaded is kept, so run the same command again to continue"
	switch {
	case full(err):
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at // without another remedy
		}
		return fmt.Errorf("the disk with %s is full, and %s of %s are still missing; %s; %s (%w)",
			j.hub.cache.dir, units.Bytes(max(0, state.Total-state.Done)), j.name, moreRoom, again, err)
	case mayPass(err) && state.Done > 0:
		return fmt.Errorf("%w; %s", err, again)
	}
	return err
}

// moreRoom is the remedy for a full disk.
const moreRoom = "free some space (troupe list shows the cached models, troupe rm MODEL removes one), or set HF_HUB_CACHE to a directory on another disk"

// room refuses a download that the disk has no room for.
func (j *pullJob) room(missing []File) error {
	need := int64(0)
	for _, f := range missing {
		if j.hub.cache.hasBlob(j.name, f) {
			continue
		}
		need += f.Size
		if at, err := os.Stat(j.hub.cache.blob(j.name, f.Hash) + ".incomplete"); err == nil {
			need -= min(at.Size(), f.Size)
		}
	}
	if need == 0 {
		return nil
	}
	if err := os.MkdirAll(j.hub.cache.dir, 0o777); err != nil {
		return unwritable(err)
	}
	free, err := j.hub.opt.Room(j.hub.cache.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find out how much space the disk with %s has free: %w; set HF_HUB_CACHE to another directory", j.hub.cache.dir, err)
	}
	if free < need {
		return fmt.Errorf("%s needs %s, but the disk with %s has only %s free; %s",
			j.name, units.Bytes(need), j.hub.cache.dir, units.Bytes(free), moreRoom)
	}
	return nil
}
