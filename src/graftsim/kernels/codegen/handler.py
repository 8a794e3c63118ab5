"""The entry that XLA calls, as LLVM text: no Python and no lock of its own in a call.

The first operand of the custom call is a table of whole numbers: tiles, threads, bytes of scratch
memory for each thread, then the program's own sizes. The others are the buffers. The structures
read here are those of XLA's foreign-function interface (`xla/ffi/api/c_api.h`), 64-bit.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jax

MESSAGE = (
    "a kernel found no memory for its work: fewer steps, threads or simulations at once need less"
)
HEAD = 3  # numbers before the program's own sizes

_TEXT = """
@message = internal constant [{length} x i8] c"{message}\\00"
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal ptr @worker(ptr %task) {{
  %buffers = load ptr, ptr %task
  %p1 = getelementptr i64, ptr %task, i64 1
  %sizes = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %task, i64 2
  %scratch = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %task, i64 3
  %begin = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %task, i64 4
  %end = load i64, ptr %p4
  call void @kernel(ptr %buffers, ptr %sizes, ptr %scratch, i64 %begin, i64 %end)
  ret ptr null
}}

define ptr @handler(ptr %frame) {{
entry:
  %e1 = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %e1
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %run, label %asked
asked:
  %e2 = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %e2
  %query = icmp eq i32 %kind, 1
  br i1 %query, label %answer, label %run
answer:
  %e3 = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %e3
  %e4 = getelementptr i8, ptr %metadata, i64 24
  store i32 {major}, ptr %e4
  %e5 = getelementptr i8, ptr %metadata, i64 28
  store i32 {minor}, ptr %e5
  ret ptr null
run:
  %buffers = alloca [{count} x ptr]
  %a1 = getelementptr i8, ptr %frame, i64 72
  %args = load ptr, ptr %a1
  %r1 = getelementptr i8, ptr %frame, i64 112
  %rets = load ptr, ptr %r1
  %s0 = load ptr, ptr %args
  %s1 = getelementptr i8, ptr %s0, i64 24
  %table = load ptr, ptr %s1
{gather}
  %tiles = load i64, ptr %table
  %t1 = getelementptr i64, ptr %table, i64 1
  %asked_threads = load i64, ptr %t1
  %t2 = getelementptr i64, ptr %table, i64 2
  %bytes = load i64, ptr %t2
  %sizes = getelementptr i64, ptr %table, i64 {head}
  %fewer = icmp slt i64 %tiles, %asked_threads
  %threads = select i1 %fewer, i64 %tiles, i64 %asked_threads
  %total = mul i64 %bytes, %threads
  %scratch = call ptr @aligned_alloc(i64 64, i64 %total)
  %single = icmp sle i64 %threads, 1
  %refused = icmp eq ptr %scratch, null
  br i1 %refused, label %full, label %start
full:
  %error = alloca [4 x i64]
  store i64 32, ptr %error
  %x1 = getelementptr i64, ptr %error, i64 1
  store ptr null, ptr %x1
  %x2 = getelementptr i64, ptr %error, i64 2
  store ptr @message, ptr %x2
  %x3 = getelementptr i64, ptr %error, i64 3
  store i64 8, ptr %x3
  %f1 = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %f1
  %f2 = getelementptr i8, ptr %api, i64 48
  %maker = load ptr, ptr %f2
  %failure = call ptr %maker(ptr %error)
  ret ptr %failure
start:
  br i1 %single, label %alone, label %fork
alone:
  call void @kernel(ptr %buffers, ptr %sizes, ptr %scratch, i64 0, i64 %tiles)
  call void @free(ptr %scratch)
  ret ptr null
fork:
  %tasks = alloca [5 x i64], i64 %threads
  %ids = alloca i64, i64 %threads
  br label %create
create:
  %k = phi i64 [ 0, %fork ], [ %k1, %created ]
  %k1 = add i64 %k, 1
  %from0 = mul i64 %tiles, %k
  %from = udiv i64 %from0, %threads
  %to0 = mul i64 %tiles, %k1
  %to = udiv i64 %to0, %threads
  %task = getelementptr [5 x i64], ptr %tasks, i64 %k
  store ptr %buffers, ptr %task
  %q1 = getelementptr i64, ptr %task, i64 1
  store ptr %sizes, ptr %q1
  %mine0 = mul i64 %bytes, %k
  %mine = getelementptr i8, ptr %scratch, i64 %mine0
  %q2 = getelementptr i64, ptr %task, i64 2
  store ptr %mine, ptr %q2
  %q3 = getelementptr i64, ptr %task, i64 3
  store i64 %from, ptr %q3
  %q4 = getelementptr i64, ptr %task, i64 4
  store i64 %to, ptr %q4
  %id = getelementptr i64, ptr %ids, i64 %k
  %last = icmp eq i64 %k1, %threads
  br i1 %last, label %own, label %spawn
spawn:
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %task)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %created, label %inline
inline:
  store i64 -1, ptr %id
  %unused = call ptr @worker(ptr %task)
  br label %created
created:
  br label %create
own:
  %unused2 = call ptr @worker(ptr %task)
  br label %join
join:
  %j = phi i64 [ 0, %own ], [ %j1, %joined ]
  %j1 = add i64 %j, 1
  %over = icmp eq i64 %j1, %threads
  br i1 %over, label %done, label %wait
wait:
  %jd = getelementptr i64, ptr %ids, i64 %j
  %thread = load i64, ptr %jd
  %none = icmp eq i64 %thread, -1
  br i1 %none, label %joined, label %await
await:
  %unused3 = call i32 @pthread_join(i64 %thread, ptr null)
  br label %joined
joined:
  br label %join
done:
  call void @free(ptr %scratch)
  ret ptr null
}}
"""


@cache
def api_version() -> tuple[int, int]:
    """Version of XLA's foreign-function interface, from the header that jaxlib ships."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text()
    found = [re.search(rf"#define XLA_FFI_API_{w} (\d+)", text) for w in ("MAJOR", "MINOR")]
    major, minor = (int(m.group(1)) if m else 0 for m in found)
    return major, minor


def handler_text(inputs: int, outputs: int) -> str:
    """LLVM text of `handler` for a kernel with so many input and output buffers."""
    lines = []
    for k in range(inputs + outputs):
        source, at = ("args", k + 1) if k < inputs else ("rets", k - inputs)
        lines += [
            f"  %g{k}a = getelementptr ptr, ptr %{source}, i64 {at}",
            f"  %g{k}b = load ptr, ptr %g{k}a",
            f"  %g{k}c = getelementptr i8, ptr %g{k}b, i64 24",
            f"  %g{k}d = load ptr, ptr %g{k}c",
            f"  %g{k}e = getelementptr ptr, ptr %buffers, i64 {k}",
            f"  store ptr %g{k}d, ptr %g{k}e",
        ]
    major, minor = api_version()
    return _TEXT.format(
        major=major,
        minor=minor,
        count=max(inputs + outputs, 1),
        gather="\n".join(lines),
        head=HEAD,
        message=MESSAGE,
        length=len(MESSAGE) + 1,
    )
