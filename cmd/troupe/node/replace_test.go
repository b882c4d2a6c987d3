package node

import (
	"context"
	"testing"
)

// A model is replaced also if a client that does not read has used up the time of the old
// one's requests.
func TestAModelIsReplacedWhateverItsClientsDo(t *testing.T) {
	engine := settings(t)
	texts, m := sent(t, textNode(t, engine))
	m.PageSize, m.Running = 16, 8
	c := settings(t)
	c.Cluster.Role, c.Cluster.Node, c.Cluster.Listen = "gateway", "one", "127.0.0.1:0"
	n := open(t, c, nil)
	before, err := n.cluster.OpenModel(t.Context(), m, texts)
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	after, err := n.cluster.OpenModel(late, m, texts)
	if err != nil {
		t.Fatal(err)
	}
	if list := n.cluster.all(); len(list) != 1 || list[0].GatewayModel != after || after == before {
		t.Errorf("the gateway serves %+v", list)
	}
}
