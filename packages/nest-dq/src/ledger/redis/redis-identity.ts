import type { DqError } from '../../errors.js';
import type { LedgerIdentity } from '../ledger.js';
import { RECORD } from './parts/record.js';
import { nonsense, ScriptReply, type RawReply } from './script.js';

/** KEYS: the identity. Argument: what is stored if there is none, or an empty text. Reply: the identity, or an empty text. */
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

/** Of all processes of one prefix, in one key of Redis, which never expires. */
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
