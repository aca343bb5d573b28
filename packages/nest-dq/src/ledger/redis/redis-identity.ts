import type { DqError } from '../../errors.js';
import type { KeyPrints, LedgerIdentity } from '../ledger.js';
import { RECORD } from '../records/record.lua.js';
import { nonsense, type RawReply, ScriptReply } from '../script.js';

/** KEYS: the identity. Argument: what to store if there is none, or an empty string. Reply: the identity, or an empty string. */
export const IDENTITY: string = `${RECORD}
local id = call('GET', KEYS[1])
if id and not (#id == 16 and string.find(id, '^[0-9a-f]+$')) then id = false end
if not id and args[1] ~= '' then
  id = args[1]
  call('SET', KEYS[1], id)
end
push(short(id or ''))
return reply
`;

/** The identity shared by all processes of one prefix, in one Redis key, which never expires. */
export class RedisIdentity implements LedgerIdentity {
  constructor(
    private readonly call: (json: string) => Promise<RawReply>,
    readonly refuse: (why: (() => DqError) | undefined) => void,
  ) {}

  async read(known: string): Promise<string> {
    const id = await this.ask(known);
    if (id === undefined) throw nonsense('', 'the identity of the ledger');
    return id;
  }

  peek(): Promise<string | undefined> {
    return this.ask('');
  }

  private async ask(known: string): Promise<string | undefined> {
    const id = new ScriptReply(await this.call(JSON.stringify([known]))).text();
    if (id === '' || /^[0-9a-f]{16}$/.test(id)) return id || undefined;
    throw nonsense(id, 'the identity of the ledger, 16 hexadecimal digits');
  }
}

/**
 * KEYS: a hash of fingerprints by key name. Arguments: 1 to store the missing ones, then names and fingerprints in turn. Reply:
 * the stored fingerprint of each name, or an empty string.
 */
export const KEY_PRINTS: string = `${RECORD}
for i = 2, #args, 2 do
  local print = call('HGET', KEYS[1], args[i])
  if print and not (#print == 16 and string.find(print, '^[0-9a-f]+$')) then print = false end
  if not print and args[1] == 1 then
    print = args[i + 1]
    call('HSET', KEYS[1], args[i], print)
  end
  push(print or '')
end
return reply
`;

/** The fingerprints shared by all processes of one prefix, in one Redis key, which never expires. */
export class RedisKeyPrints implements KeyPrints {
  constructor(private readonly call: (json: string) => Promise<RawReply>) {}

  store(own: ReadonlyMap<string, string>): Promise<Map<string, string>> {
    return this.ask(1, own);
  }

  peek(own: ReadonlyMap<string, string>): Promise<Map<string, string>> {
    return this.ask(0, own);
  }

  private async ask(stores: number, own: ReadonlyMap<string, string>): Promise<Map<string, string>> {
    const reply = new ScriptReply(await this.call(JSON.stringify([stores, ...[...own].flat()])));
    const stored = new Map<string, string>();
    for (const name of own.keys()) {
      const print = reply.text();
      if (!/^([0-9a-f]{16})?$/.test(print))
        throw nonsense(print, "a key's fingerprint, 16 hexadecimal digits");
      if (print !== '') stored.set(name, print);
    }
    return stored;
  }
}
