/**
 * For scripts that change or read the index of a tube's waiting jobs. Nothing depends on it:
 *  - `{<tube>}::index`, a sorted set: the ids by due time
 *  - `{<tube>}::places`, a hash: under the id of a job without a record the places of its copies; under `#` the packed list
 *    of servers. The places are a layout, `|`, and the ids of the copies in the order of the layout, `17,18,9`. The layout is
 *    two bytes for each copy: its index, and the number of its server (from 1). If a server has no number, the layout is a string,
 *    ` 0=host:11300#instance 1=…`.
 *  - `{<tube>}::retrying`, a sorted set: indexed jobs that wait for a retry
 *
 * A script that decides about jobs calls `writeIndex` at its end. Jobs are removed under any settings. They are added only
 * while there are fewer than MOST_INDEXED, but an indexed job always gets its new time.
 */
export const WAITING: string = `
local removed, added, dues, retried = {}, {}, {}, {}

local function unlist(key)
  local id = idOf(key)
  removed[#removed + 1], dues[id] = id, nil
end

-- Updates the index after a record was written.
local function relist(key, record)
  if record.state ~= 'w' then return unlist(key) end
  if record.committed == -1 then return end
  local id = idOf(key)
  if not dues[id] then added[#added + 1] = id end
  dues[id], retried[id] = record.due, record.attempt > 0
end

-- While the slot of a tube is migrating, only a record's key is: see redis-tube-ledger.ts.
local function isIndexAtHand()
  return INDEX ~= PLACES
end

-- The last time a Date can hold, in ms. A later one, written by another program, could not be shown.
local LAST_TIME = 8.64e15

-- An index score as returned to callers; nil if there is none.
local function timeOf(score)
  local due = score and tonumber(score)
  return due and max(0, math.min(due, LAST_TIME))
end

local function sizeOfIndex()
  return call('ZCOUNT', INDEX, '-inf', '+inf')
end

local function writeIndex()
  if not isIndexAtHand() then return end
  if removed[1] and call('ZREM', INDEX, unpack(removed)) > 0 then
    call('ZREM', RETRYING, unpack(removed))
    call('HDEL', PLACES, unpack(removed))
    if sizeOfIndex() == 0 then call('HDEL', PLACES, '#') end
  end
  if not added[1] then return end
  local room = MOST_INDEXED - sizeOfIndex()
  local new, moved, retrying = { INDEX }, { INDEX, 'XX' }, { RETRYING }
  for i = 1, #added do
    local id = added[i]
    local to = i <= room and new or moved
    if dues[id] then
      to[#to + 1], to[#to + 2] = dues[id], id
      if retried[id] and (to == new or call('ZSCORE', INDEX, id)) then
        retrying[#retrying + 1], retrying[#retrying + 2] = dues[id], id
      end
    end
  end
  call('ZREM', RETRYING, unpack(added))
  if new[2] then call('ZADD', unpack(new)) end
  if moved[3] then call('ZADD', unpack(moved)) end
  if retrying[2] then call('ZADD', unpack(retrying)) end
  call('HDEL', PLACES, unpack(added)) -- their records have the places
end
`;

/**
 * For scripts that decide about jobs: each record written from here on updates the index too. `runs` has the keys of running
 * jobs, if the script sets it: a claim has removed these from the index, so they change it only if they wait again.
 */
export const RELISTING: string = `${WAITING}
local writeOnly, runs = writeRecord, {}

local function writeRecord(key, record, leaseUntil)
  if record.state == 'w' or not runs[key] then relist(key, record) end
  writeOnly(key, record, leaseUntil)
end
`;

/** For scripts that read or write places in the index. */
export const PLACES_IN_INDEX: string = `
-- Each start of a node counts as another server, so a tube that is never empty may see many.
local MOST_SERVERS = 255
local servers, numbers, isNew

local function readServers()
  local packed = call('HGET', PLACES, '#')
  servers, numbers = packed and cmsgpack.unpack(packed) or {}, {}
  for number, server in ipairs(servers) do numbers[server] = number end
end

local function packLayout(text)
  if not servers then readServers() end
  local packed = ''
  for index, server in string.gmatch(text, ' (%d+)=(%S+)') do
    local number = numbers[server]
    if not number then
      number = #servers + 1
      if number > MOST_SERVERS then return text end
      servers[number], numbers[server], isNew = server, number, true
    end
    packed = packed .. string.char(index, number)
  end
  return packed
end

-- The places of a job in the index, as written by formatPlaces.
local function placesOf(id)
  local value = call('HGET', PLACES, id)
  if not value then return '' end
  if not servers then readServers() end
  local layout, copies = string.match(value, '^(.*)|(.*)$')
  if string.byte(layout) ~= 32 then
    layout = string.gsub(layout, '(.)(.)', function(index, number)
      return ' ' .. string.byte(index) .. '=' .. servers[string.byte(number)]
    end)
  end
  local nextCopy = string.gmatch(copies, '[^,]+')
  return (string.gsub(layout, '%S+', function(at) return at .. ':' .. nextCopy() end))
end
`;
