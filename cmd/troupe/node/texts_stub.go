package node

import (
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/configs"
)

func (n *Node) Texts() (data []byte, hash string, err error) { return nil, "", nil }
func ModelFromTexts(data []byte, m *wire.Model, c *configs.Config) (httpapi.Model, error) {
	return httpapi.Model{}, nil
}
