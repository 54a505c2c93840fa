"""Calls a server as another user, and prints the status: grpc_call.py ADDRESS METHOD REQUEST

The answer of a METHOD of the form SERVICE/METHOD is printed in hexadecimal, too.
"""

import sys

import grpc

channel = grpc.insecure_channel(sys.argv[1], [("grpc.enable_http_proxy", 0)])
try:
    # The request is in hexadecimal. The caller is known before it is looked at.
    method = sys.argv[2] if "/" in sys.argv[2] else f"aios.tools.ToolRegistry/{sys.argv[2]}"
    answer = channel.unary_unary(f"/{method}")(bytes.fromhex(sys.argv[3]), timeout=30)
    print(answer.hex() if "/" in sys.argv[2] else "OK")
except grpc.RpcError as error:
    print(error.code().name)
