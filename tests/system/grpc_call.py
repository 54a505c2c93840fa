"""Calls a server as another user, and prints the status: grpc_call.py ADDRESS"""

import sys

import grpc

channel = grpc.insecure_channel(sys.argv[1], [("grpc.enable_http_proxy", 0)])
try:
    # An empty request: the caller is known before anything else is looked at.
    channel.unary_unary("/aios.tools.ToolRegistry/ListTools")(b"", timeout=30)
    print("OK")
except grpc.RpcError as error:
    print(error.code().name)
