"""Faults that each harness detects: bit *i* of its output ``failed`` stands for entry *i*."""

__all__ = ["ACCELERATOR", "BANKED_MEMORY", "CLIENT_ARBITER", "DRAM_CONTROLLER", "SYSTOLIC_ARRAY"]

ACCELERATOR = ("a refresh was late", "a row was opened that the host has not placed",
               "words without a write that is due, or a write without words", "an event was lost")
BANKED_MEMORY = ("wrong data", "answer missing", "bound exceeded", "recorder overflow")
CLIENT_ARBITER = ("a request was refused", "words of another request, or not all of its own",
                  "a refresh was late")
DRAM_CONTROLLER = ("a request began while a bank was open", "a request was refused",
                   "a refresh was late", "bound exceeded", "recorder overflow")
SYSTOLIC_ARRAY = ("wrong checksum", "results of no fold", "results missing", "bound exceeded",
                  "recorder overflow")
