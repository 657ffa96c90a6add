"""A llama.cpp server with a small model, on the loopback address and a port that the system picks.

usage: llama_server.py MODEL.gguf    prints `listening ADDRESS`, and serves until it is ended

Run by the Python that `xllamacpp` is installed for. Sampling is greedy, and an answer is at most a few words:
what is tried is the wire, not the model.
"""

import signal
import sys

import xllamacpp

FEW_WORDS = 'root ::= [A-Z] [a-z]{1,12} (" " [a-z]{1,12}){3,12} "."'


def main():
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 2
    params.n_gpu_layers = 0
    params.use_jinja = True
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
    params.sampling.grammar = xllamacpp.CommonGrammar(kind, FEW_WORDS)
    server = xllamacpp.Server(params)
    print("listening", server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
