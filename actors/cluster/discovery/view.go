package discovery

import (
	"context"
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/cluster/clusterproviders/etcd"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// view is what protoactor's etcd provider sees of a client. It repairs, from outside:
//
//   - The watch begins at the revision of the list, so that no member is missed in between.
//   - A watch that fails ends the session, which then lists again.
//   - Entries that the provider cannot read, or that are not ours, are left out; one would
//     make the list fail for all.
//   - A deadline on the list; the provider has none.
//   - After the list, reads fail at once. The provider reads all members at each event to
//     elect a leader, which nobody needs, and can block for ever when the leader changes.
//   - Removing the entry does nothing, because the entry is not the provider's.
//   - The provider is idle before Shutdown, and its watch ends after it. Otherwise both
//     touch its fields at once.
type view struct {
	clientv3.KV
	clientv3.Watcher
	ctx    context.Context // of the session
	cancel context.CancelFunc
	prefix string // of the members' keys, with the slash

	listed   bool
	revision int64           // of the list
	keys     map[string]bool // that the provider knows; at most maxPeers

	watched  chan struct{} // closed when the provider watches
	broken   chan error    // the watch has failed; one value
	halted   chan struct{} // closed to stop the events
	idle     chan struct{} // closed when the provider has handled the last event
	released chan struct{} // closed to end the provider's watch
}

var errLeader = errors.New("leaders are not elected")

// newView puts itself in front of the client.
func newView(ctx context.Context, client *clientv3.Client, base string) *view {
	ctx, cancel := context.WithCancel(ctx)
	v := &view{
		KV: client.KV, Watcher: client.Watcher, ctx: ctx, cancel: cancel, prefix: base + "/" + membersKey + "/", keys: map[string]bool{},
		watched: make(chan struct{}), broken: make(chan error, 1),
		halted: make(chan struct{}), idle: make(chan struct{}), released: make(chan struct{}),
	}
	client.KV, client.Watcher = v, v
	return v
}

// Get answers the first call only, for the list.
func (v *view) Get(_ context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if v.listed {
		return nil, errLeader
	}
	ctx, cancel := context.WithTimeout(v.ctx, answerTime)
	defer cancel()
	list, err := v.KV.Get(ctx, key, append(opts, clientv3.WithLimit(maxPeers))...)
	if err != nil {
		return nil, err
	}
	v.listed, v.revision = true, list.Header.Revision
	list.Kvs = slices.DeleteFunc(list.Kvs, func(kv *mvccpb.KeyValue) bool { return !v.admit(kv) })
	return list, nil
}

// Delete is called by the provider's Shutdown.
func (v *view) Delete(context.Context, string, ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return &clientv3.DeleteResponse{}, nil
}

func (v *view) Watch(_ context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	begun, out := make(chan clientv3.WatchChan, 1), make(chan clientv3.WatchResponse)
	go func() {
		// This waits for the server. Without a leader a server knows of no changes; then the
		// watch fails instead of waiting.
		begun <- v.Watcher.Watch(clientv3.WithRequireLeader(v.ctx), key, append(opts, clientv3.WithRev(v.revision+1))...)
	}()
	go v.forward(begun, out)
	close(v.watched)
	return out
}

// forward hands events to the provider until the session ends.
func (v *view) forward(begun <-chan clientv3.WatchChan, out chan<- clientv3.WatchResponse) {
	var events clientv3.WatchChan
	for {
		select {
		case events = <-begun:
		case r, ok := <-events:
			if err := r.Err(); err != nil || !ok {
				if err == nil {
					err = errors.New("the watch has ended")
				}
				v.broken <- err
				events = nil
				continue
			}
			r.Events = slices.DeleteFunc(r.Events, func(e *clientv3.Event) bool { return !v.passes(e) })
			if len(r.Events) > 0 {
				out <- r
			}
		case <-v.halted:
			// The provider ignores a response without events, and takes it only after it
			// has handled the previous one.
			out <- clientv3.WatchResponse{}
			close(v.idle)
			<-v.released
			close(out)
			return
		}
	}
}

func (v *view) passes(e *clientv3.Event) bool {
	if e.Type == clientv3.EventTypeDelete {
		known := v.keys[string(e.Kv.Key)]
		delete(v.keys, string(e.Kv.Key))
		return known
	}
	return v.admit(e.Kv)
}

// admit reports whether an entry is one of ours and can be dialled.
func (v *view) admit(kv *mvccpb.KeyValue) bool {
	node, err := etcd.NewNodeFromBytes(kv.Value)
	if err != nil || !node.Alive || string(kv.Key) != v.prefix+node.ID {
		return false
	}
	if _, ok := addressOf(node); !ok || len(v.keys) == maxPeers && !v.keys[string(kv.Key)] {
		return false
	}
	v.keys[string(kv.Key)] = true
	return true
}

// halt returns when the provider has handled its last event. The provider watches soon
// after StartClient has succeeded.
func (v *view) halt() {
	<-v.watched
	close(v.halted)
	<-v.idle
}

// release ends the watch, after the provider's Shutdown.
func (v *view) release() {
	v.cancel()
	close(v.released)
}
