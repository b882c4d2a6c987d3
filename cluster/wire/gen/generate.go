package main

import (
	"context"
	"errors"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// source is the file with the messages.
const source = "wire.proto"

// generate compiles the source in a folder. It returns the Go files by name, and the
// messages with their comments.
func generate(dir string) (files map[string]string, messages protoreflect.FileDescriptor, err error) {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), source)
	if err != nil {
		return nil, nil, err
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{source}, Parameter: proto.String("paths=source_relative"),
		ProtoFile: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(compiled[0])},
	})
	if err != nil {
		return nil, nil, err
	}
	for _, f := range plugin.Files {
		internal_gengo.GenerateFile(plugin, f)
	}
	answer := plugin.Response()
	if answer.Error != nil {
		return nil, nil, errors.New(answer.GetError())
	}
	files = map[string]string{}
	for _, f := range answer.File {
		files[f.GetName()] = f.GetContent()
	}
	return files, compiled[0], nil
}
