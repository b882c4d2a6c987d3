package node

import (
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry/recording"
)

// OpenRecording creates the file of record-trace, which must not exist yet; nil if unset.
func OpenRecording(c *configs.Config, log zerolog.Logger) (*recording.Recorder, error) {
	if c.RecordTrace == "" {
		return nil, nil
	}
	file, err := os.OpenFile(c.RecordTrace, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		err = fmt.Errorf("record-trace: %s already exists; remove it or use another file", c.RecordTrace)
	case err != nil:
		err = fmt.Errorf("record-trace: %w", err)
	default:
		return recording.Start(c.RecordTrace, file, c.PageSize, log), nil
	}
	return nil, c.Explain(configs.About(err, "record-trace"))
}
