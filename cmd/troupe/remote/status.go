package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-engine/troupe/telemetry"
)

// Status is the part of /server_info that views use.
type Status struct {
	Version string
	Uptime  float64 `json:"uptime_seconds"`
	Ready   bool
	Model   struct{ ID string }
	Device  struct{ Kind, Name string }
	Memory  struct {
		MaxTokens int64 `json:"max_total_num_tokens"`
		PageSize  int64 `json:"page_size"`
		Pages     int64 `json:"num_pages"`
		Stats     *telemetry.MemoryStats
	}
	Scheduler struct {
		MaxRunning int `json:"max_running_requests"`
	}
	Metrics    map[string]float64
	Histograms map[string]telemetry.Histogram
}

// Status reads /server_info.
func (s *Server) Status(ctx context.Context) (*Status, error) {
	body, err := s.Get(ctx, "/server_info", nil)
	if err != nil {
		return nil, err
	}
	status := &Status{}
	if err := json.Unmarshal(body, status); err != nil || status.Memory.Stats == nil {
		return nil, fmt.Errorf("%s is not a Troupe server of this version: its /server_info has no memory statistics", s.URL)
	}
	return status, nil
}
