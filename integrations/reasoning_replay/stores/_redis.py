"""A store in Redis, for workers and machines that share one. One round trip for an `add`, one for a `get`.

An item is a string of its own that Redis lets expire; recency and sizes lie beside, in one sorted set and one hash, and
the scripts keep all three in step. So the bounds hold whatever else lives in that Redis and whatever its `maxmemory`:
the alternative, eviction by Redis, is a setting of the whole server, cannot count items and takes other people's keys.
The price is 0.2 KB an item. One server (or a primary with replicas): in a cluster the scripts' keys would be spread.
Tenants are kept as a hash of equal length in front of the key, never in words. The url's text is nowhere shown.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ._base import MAX_VALUES, ORIGINS_KEY, Bounds, Store, StoreError, hidden, packed, unpacked
from ._guard import told

if TYPE_CHECKING:
    from redis import Redis

MAX_ITEMS = 1_000_000
MAX_BYTES_PER_ITEM = 1_048_576
MAX_BYTES = 1_073_741_824
TTL = 30 * 86_400.0
"""A conversation is taken up again within a month (a guess, 2026-11-30); text is not kept for ever by default."""
OVERHEAD = 450
"""Bytes around an item: string, expiry, recency and size (tests/benchmarks/bench_store.py)."""
ANSWER = 1.0
"""Seconds until a connection that says nothing is closed; the call has long gone on."""
PURGE_ANSWER = 10.0
SLICE = 500
"""Keys of a purge in one script: Redis answers nobody else meanwhile."""

ITEM, RECENT, SIZES = b"rr1:", b"rr1#recent", b"rr1#sizes"
"""The 1 is the schema's version: another one is another store. An item's key goes on with tenant, ":", key."""

_SHARED = """
local item, recent, sizes = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function forget(name)
  local size = redis.call('HGET', sizes, name)
  if size then
    redis.call('HDEL', sizes, name)
    redis.call('HINCRBY', sizes, '', -tonumber(size))
  end
  redis.call('ZREM', recent, name)
  return redis.call('UNLINK', item .. name)
end
local function packed(value) return struct.pack('>I4', #value) .. value end
local function unpacked(data)
  local values, at = {}, 1
  while at <= #data do
    local size = struct.unpack('>I4', data, at)
    values[#values + 1] = string.sub(data, at + 4, at + 3 + size)
    at = at + 4 + size
  end
  return values
end
"""
_GET = (
    _SHARED
    + """
local keys, parts, used = unpacked(ARGV[2]), {}, {}
local oldest = redis.call('ZRANGE', recent, 0, 0, 'WITHSCORES')[2] or now
local span = now - tonumber(oldest)
local grain = span > 60000000 and span / 16 or 0 -- most of what is read was read a moment ago
for first = 1, #keys, 1000 do -- no script may hand on many more at once
  local last, names = math.min(first + 999, #keys), {}
  for at = first, last do names[#names + 1] = item .. ARGV[1] .. keys[at] end
  for place, data in ipairs(redis.call('MGET', unpack(names))) do
    parts[#parts + 1] = packed(data or '')
    if data then
      local name = ARGV[1] .. keys[#parts]
      local before = grain > 0 and redis.call('ZSCORE', recent, name)
      if not before or tonumber(before) < now - grain then
        used[#used + 1] = now - #keys + #parts
        used[#used + 1] = name
      end
    end
  end
  if #used > 0 then redis.pcall('ZADD', recent, 'XX', unpack(used)) end -- without memory it may still be read
  used = {}
end
return table.concat(parts)
"""
)
_ADD = (
    _SHARED
    + """
local max_items, max_bytes, ttl = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local overhead, max_values, first_stay = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]

local function joined(key, old, value)
  local values, there = {}, false
  local stay = string.sub(key, 1, #first_stay) == first_stay
  for _, each in ipairs(old) do
    there = there or each == value
    if stay or each ~= value then values[#values + 1] = each end
  end
  if not stay or not (there or #values >= max_values) then values[#values + 1] = value end
  while #values > max_values do table.remove(values, 1) end
  return values
end

local items = unpacked(ARGV[2])
for at = 1, #items, 2 do
  local key = items[at]
  local name = ARGV[1] .. key
  local values = joined(key, unpacked(redis.call('GET', item .. name) or ''), items[at + 1])
  for place, value in ipairs(values) do values[place] = packed(value) end
  local data = table.concat(values)
  if ttl > 0 then
    redis.call('SET', item .. name, data, 'PX', ttl)
  else
    redis.call('SET', item .. name, data)
  end
  local size = #key + math.ceil(#data * 1.25) + overhead -- the allocator rounds up
  redis.call('HINCRBY', sizes, '', size - tonumber(redis.call('HGET', sizes, name) or 0))
  redis.call('HSET', sizes, name, size)
  redis.call('ZADD', recent, now - #items + at, name)
end

for _, name in ipairs(redis.call('ZRANGE', recent, 0, 3)) do -- what Redis has let expire is still counted
  if redis.call('EXISTS', item .. name) == 0 then forget(name) end
end
while redis.call('ZCARD', recent) > max_items or tonumber(redis.call('HGET', sizes, '') or 0) > max_bytes do
  local last = redis.call('ZRANGE', recent, 0, 0)
  if #last == 0 then break end
  forget(last[1])
end
if ttl > 0 then
  redis.call('PEXPIRE', recent, ttl)
  redis.call('PEXPIRE', sizes, ttl)
end
"""
)
_FORGET = (
    _SHARED
    + """
local gone = 0
for at = 1, #ARGV do gone = gone + forget(ARGV[at]) end
return gone
"""
)


class RedisStore(Store):
    """A store in Redis 5 or newer. `url`: `redis://`, `rediss://` or `unix://`. `ttl` counts from the last write.

    `max_items` counts keys, `max_bytes` and `max_bytes_per_item` are bytes, `ttl` is seconds (None: no end).

    `patience`: seconds that a call waits for it; None: within 50 ms the call goes on without.

    Raises:
        StoreError: impossible bounds, or a url that cannot be read. A Redis that is down is no such reason.
        ImportError: the package `redis` is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        max_items: int = MAX_ITEMS,
        max_bytes_per_item: int = MAX_BYTES_PER_ITEM,
        max_bytes: int = MAX_BYTES,
        ttl: float | None = TTL,
        patience: float | None = None,
    ) -> None:
        super().__init__(Bounds(max_items, max_bytes_per_item, max_bytes, ttl), patience=patience)
        self._url = url
        self._where = _where(url)
        self._ttl = 0 if ttl is None else int(ttl * 1000)
        self._begin_anew()
        self._guard.warm(self._load)

    def _begin_anew(self) -> None:
        self._client = self._connect(ANSWER)
        self._get_script = self._client.register_script(_GET)
        self._add_script = self._client.register_script(_ADD)

    def _connect(self, answer: float) -> Redis:
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise ImportError("RedisStore needs redis: pip install 'reasoning-replay[redis]'") from None
        try:
            return Redis.from_url(
                self._url,
                socket_timeout=answer,
                socket_connect_timeout=answer,
                retry=Retry(NoBackoff(), 1),  # a connection that Redis closed is opened again
                decode_responses=False,
            )
        except (ValueError, TypeError):
            raise StoreError(_ALLOWED) from None  # the error of `redis` may quote the url

    def _load(self) -> None:
        for script in (self._get_script, self._add_script):
            self._client.script_load(script.script)

    def _get(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        # one argument and one answer, since `redis` takes microseconds for each
        found = unpacked(self._get_script(keys=_KEYS, args=[_front(tenant), packed(keys)]))
        return {key: unpacked(data) for key, data in zip(keys, found, strict=True) if data}

    def _add(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        bounds = self.bounds
        fixed: list[int | bytes] = [bounds.max_items, bounds.max_bytes, self._ttl, OVERHEAD, MAX_VALUES, ORIGINS_KEY]
        self._add_script(keys=_KEYS, args=[_front(tenant), packed([part for item in items for part in item]), *fixed])

    def purge(self, tenant: str) -> int:
        """Forgets all that this tenant has, by a scan of the whole database. How many items went.

        Raises:
            StoreError: it could not be done, or not to the end.
        """
        self._guard.barrier()
        from redis import RedisError

        client = self._connect(PURGE_ANSWER)
        try:
            forget = client.register_script(_FORGET)
            own, gone, cursor = ITEM + _front(tenant), 0, -1
            while cursor != 0:
                cursor, keys = client.scan(max(cursor, 0), match=own + b"*", count=SLICE)
                gone += forget(keys=_KEYS, args=[key[len(ITEM) :] for key in keys]) if keys else 0
            cursor = -1
            while cursor != 0:  # of what expired, sizes may be left
                cursor, names = client.zscan(RECENT, max(cursor, 0), match=_front(tenant) + b"*", count=SLICE)
                gone += forget(keys=_KEYS, args=[name for name, _ in names]) if names else 0
        except (RedisError, OSError) as error:
            raise StoreError(f"{self!r}: purge: {told(error)}; what is left goes when it is called again") from None
        else:
            return gone
        finally:
            client.close()

    def _part(self) -> None:
        self._client.close()

    def __repr__(self) -> str:
        return f"RedisStore({self._where!r})"


_KEYS = [ITEM, RECENT, SIZES]
_ALLOWED = (
    "RedisStore(url): cannot be read; allowed: redis://[user:password@]host[:port][/number], rediss://… or unix://…"
)


def _where(url: str) -> str:
    """What of the url may be shown: scheme, host, port and the number of the database."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, AttributeError, TypeError):
        raise StoreError(_ALLOWED) from None
    if parts.scheme == "unix":
        return "unix://…"
    if parts.scheme not in {"redis", "rediss"} or parts.hostname is None:
        raise StoreError(_ALLOWED)
    return f"{parts.scheme}://{parts.hostname}{'' if port is None else f':{port}'}"


@lru_cache(maxsize=1024)
def _front(tenant: str) -> bytes:
    """What an item's key begins with: 22 letters that mean themselves in a pattern, and a colon."""
    return urlsafe_b64encode(hidden(tenant)).rstrip(b"=") + b":"
