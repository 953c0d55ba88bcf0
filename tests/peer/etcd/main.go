// Command etcd is etcd's own server, built here since its module holds no command that can be installed.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
