import type { Clock } from 'nest-handlers/time';
import { otherBytesError, type Seal } from './seal.js';
import { factOf } from '../errors.js';

interface KeyCheckParts {
  readonly seal: Seal;
  /** The fingerprints that are stored for all processes, of these names. Those of `own` may be stored where there are none. */
  readonly read: (own: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  /** The same, and stores none. */
  readonly peek: (own: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  readonly clock: Clock;
  readonly log: (message: string) => void;
  readonly error: (message: string) => void;
}

/** Milliseconds. In three rounds of the admission, every other process has stored what it has. */
const LEFT_TO_OTHERS = 15_000;

/**
 * Refuses keys of the seal that mean other bytes than in the other processes of the prefix, now or before a restart: what was sealed
 * with them here, nobody else could open, and what others sealed would be taken for altered, and buried.
 */
export class KeyCheck {
  /** By the name of a refused key, since when nothing is stored for it, in ms of the clock. */
  private readonly absentSince = new Map<string, number>();

  constructor(private readonly parts: KeyCheckParts) {}

  /** `DQ_LEDGER_DOWN`: nothing has changed. */
  async look(): Promise<void> {
    const { seal, log, error } = this.parts;
    const own = seal.prints();
    const before = seal.refused;
    const stored = await this.stored(own);
    const isWrong = (name: string, print: string) => {
      const known = stored.get(name);
      return known === undefined ? before.includes(name) : known !== print;
    };
    const wrong = [...own].filter(([name, print]) => isWrong(name, print)).map(([name]) => name);
    seal.refused = wrong;
    if (wrong.join() === before.join()) return;
    if (wrong.length > 0) error(`sealing or reading with it is refused: ${factOf(otherBytesError(wrong))}`);
    else log(`the keys of \`seal.keys\` are those of the other processes again, so all of them are used`);
  }

  /**
   * What is stored of these. After Redis lost its data, a refused key must not become the one that those of the others are compared with,
   * so it is stored only if nobody else has stored it for a while.
   */
  private async stored(own: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
    const { seal, read, peek, clock } = this.parts;
    const refused = [...own].filter(([name]) => seal.refused.includes(name));
    if (refused.length === 0) return read(own);
    const peeked = await peek(new Map(refused));
    const now = clock.now();
    const waiting = new Set<string>();
    for (const [name] of refused) {
      const since = peeked.has(name) ? undefined : (this.absentSince.get(name) ?? now);
      if (since === undefined) this.absentSince.delete(name);
      else this.absentSince.set(name, since);
      if (since === undefined || now - since < LEFT_TO_OTHERS) waiting.add(name);
    }
    const stored = await read(new Map([...own].filter(([name]) => !waiting.has(name))));
    return new Map([...peeked, ...stored]);
  }
}
