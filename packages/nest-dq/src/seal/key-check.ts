import { otherBytesError, type Seal } from './seal.js';
import { factOf } from '../errors.js';

export interface KeyCheckParts {
  readonly seal: Seal;
  /** The fingerprints that are stored for all processes, of these names. Those of `own` may be stored where there are none. */
  readonly read: (own: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  readonly log: (message: string) => void;
  readonly error: (message: string) => void;
}

/**
 * Refuses keys of the seal that mean other bytes than in the other processes of the prefix, now or before a restart: what was sealed
 * with them here, nobody else could open, and what others sealed would be taken for altered, and buried.
 */
export class KeyCheck {
  constructor(private readonly parts: KeyCheckParts) {}

  /** `DQ_LEDGER_DOWN`: nothing has changed. */
  async look(): Promise<void> {
    const { seal, read, log, error } = this.parts;
    const own = seal.prints();
    const stored = await read(own);
    const wrong = [...own]
      .filter(([name, print]) => (stored.get(name) ?? print) !== print)
      .map(([name]) => name);
    const before = seal.refused;
    seal.refused = wrong;
    if (wrong.join() === before.join()) return;
    if (wrong.length > 0) error(`sealing or reading with it is refused: ${factOf(otherBytesError(wrong))}`);
    else log(`the keys of \`seal.keys\` are those of the other processes again, so all of them are used`);
  }
}
