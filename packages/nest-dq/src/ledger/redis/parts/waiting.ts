/**
 * For scripts that change or read the index of a tube's waiting jobs. Nothing is decided by it:
 *  - `{<tube>}::index`, a sorted set: the ids by due time
 *  - `{<tube>}::places`, a hash: under the id of a job without a record the places of its copies, packed; under `#` the list of
 *    the servers. Each place is two values: the number of its server (from 0) times 32 plus the index of the copy, and the
 *    copy's id at that server. If its server has no number, the first value is a text, `<index>=<server>`.
 *
 * A script that decides about jobs calls `writeIndex` at its end. Jobs are taken out under any settings. They are added only
 * while there are fewer than MOST_INDEXED, but a job that is in the index always gets its new time.
 */
export const WAITING: string = `
local removed, added, dues = {}, {}, {}

local function unlist(key)
  local id = idOf(key)
  removed[#removed + 1], dues[id] = id, nil
end

-- What a record that is written means for the index.
local function relist(key, record)
  if record.state ~= 'w' then return unlist(key) end
  if record.committed == -1 then return end
  local id = idOf(key)
  if not dues[id] then added[#added + 1] = id end
  dues[id] = record.due
end

-- While the slot of a tube moves, only the key of a record is: see redis-tube-ledger.ts.
local function isIndexAtHand()
  return INDEX ~= PLACES
end

local function sizeOfIndex()
  return call('ZCOUNT', INDEX, '-inf', '+inf')
end

local function writeIndex()
  if not isIndexAtHand() then return end
  if removed[1] and call('ZREM', INDEX, unpack(removed)) > 0 then
    call('HDEL', PLACES, unpack(removed))
    if sizeOfIndex() == 0 then call('HDEL', PLACES, '#') end
  end
  if not added[1] then return end
  local room = MOST_INDEXED - sizeOfIndex()
  local new, moved = { INDEX }, { INDEX, 'XX' }
  for i = 1, #added do
    local id = added[i]
    local to = i <= room and new or moved
    if dues[id] then to[#to + 1], to[#to + 2] = dues[id], id end
  end
  if new[2] then call('ZADD', unpack(new)) end
  if moved[3] then call('ZADD', unpack(moved)) end
  call('HDEL', PLACES, unpack(added)) -- their records have the places
end
`;

/** For scripts that decide about jobs: each record that is written from here on changes the index, too. */
export const RELISTING: string = `${WAITING}
local writeOnly = writeRecord

local function writeRecord(key, record, leaseUntil)
  relist(key, record)
  writeOnly(key, record, leaseUntil)
end
`;

/** For scripts that read or write places of the index. */
export const PLACES_OF_SERVERS: string = `
-- Each start of a node is another server, so a tube that is never empty may meet many.
local MOST_SERVERS = 256
local servers, numbers, isNew

local function readServers()
  local packed = call('HGET', PLACES, '#')
  servers, numbers = packed and cmsgpack.unpack(packed) or {}, {}
  for i, server in ipairs(servers) do numbers[server] = i - 1 end
end

-- From a flat list: the server, the index of the copy, and its id, for each place.
local function packPlaces(list)
  if not servers then readServers() end
  local packed = {}
  for i = 1, #list, 3 do
    local server, index = list[i], list[i + 1]
    if not numbers[server] and #servers < MOST_SERVERS then
      servers[#servers + 1], numbers[server], isNew = server, #servers, true
    end
    local number = numbers[server]
    packed[#packed + 1] = number and number * 32 + index or index .. '=' .. server
    packed[#packed + 1] = list[i + 2]
  end
  return cmsgpack.pack(packed)
end

-- Of a job in the index, as formatPlaces writes them.
local function placesOf(id)
  local packed = call('HGET', PLACES, id)
  if not packed then return '' end
  if not servers then readServers() end
  local list, text = cmsgpack.unpack(packed), ''
  for i = 1, #list, 2 do
    local where, copy = list[i], list[i + 1]
    if type(where) == 'number' then where = where % 32 .. '=' .. servers[math.floor(where / 32) + 1] end
    text = text .. ' ' .. where .. ':' .. (type(copy) == 'number' and string.format('%.0f', copy) or copy)
  end
  return text
end
`;
