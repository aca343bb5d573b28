// Dead letters: which ones go, and that their copies go with them.
import { contract, unit, type Rule } from './rule.js';

export const LETTERS: readonly Rule[] = [
  {
    rule: 'A dead letter that is young and within the count stays.',
    mutants: [
      ...contract(
        'ledger-retention.spec.ts',
        'has no letter that is young and within the count',
        ['letters/letters.rule.ts', 'if (died < now - maxAge) old++;', 'if (died < now) old++;'],
        ['letters/letters.lua.ts', `'(' .. now - maxAge)`, `'(' .. now)`],
      ),
      ...contract(
        'ledger-retention.spec.ts',
        'has the letters beyond the count, the oldest first',
        ['letters/letters.rule.ts', 'Math.max(old, all.size - maxCount)', 'Math.max(old, all.size)'],
        ['letters/letters.lua.ts', 'max(old, all - maxCount)', 'max(old, all)'],
      ),
      ...contract(
        'ledger-retention.spec.ts',
        'leaves the letter of a job that was revived and died again',
        ['letters/letters.rule.ts', ' || (ref.died !== undefined && found.died !== ref.died)', ''],
        ['letters/letters.lua.ts', ' or died and cjson.decode(letter).died ~= died', ''],
      ),
      ...unit(
        'upkeep/letter-sweeper.spec.ts',
        'leaves alone a job that is revived meanwhile, and its letter if it dies again',
        ['upkeep/letter-sweeper.ts', '({ id, born, died }))', '({ id, born }))'],
      ),
    ],
  },
  {
    rule: 'When a dead letter is removed, its copies are deleted, even if the answer of the ledger was lost.',
    mutants: [
      ...unit('upkeep/letter-sweeper.spec.ts', 'removes the oldest of too many', [
        'upkeep/letter-sweeper.ts',
        'await Promise.all(taken.map((letter) => deleteCopies(this.parts, tube, letter, letter.places)));',
        '',
      ]),
      ...unit('upkeep/letter-sweeper.spec.ts', 'deletes the copies if a discard is %s, a minute later', [
        'upkeep/letter-sweeper.ts',
        'this.doubtful.set(tube, letters);',
        '',
      ]),
      ...unit(
        'upkeep/letter-sweeper.spec.ts',
        'when stopped, deletes the copies of what it has discarded, and asks no more',
        ['upkeep/tube-rounds.ts', 'await this.underWay;', ''],
      ),
    ],
  },
  {
    rule: 'A copy of a dead job that somebody holds while its letter goes is deleted by its holder, and only if no claim would run it.',
    mutants: [
      ...unit(
        'consumer/finish/copy-burier.spec.ts',
        'deletes what it has buried if the letter has gone meanwhile',
        [
          'consumer/finish/copy-burier.ts',
          'if (asked) this.add({ delivery, asked });',
          'if (false as boolean) this.add({ delivery, asked });',
        ],
        ['consumer/finish/copy-burier.ts', "if (answer === 'gone')", "if (answer === 'gone' && !asked)"],
      ),
      ...unit(
        'consumer/finish/copy-burier.spec.ts',
        'leaves alone a buried copy unknown to the ledger: the job may have no other',
        ['consumer/finish/copy-burier.ts', "if (answer === 'gone')", "if (answer !== 'dead')"],
      ),
      ...unit('consumer/finish/dead-letters.spec.ts', 'leaves no copy behind if it is discarded %s', [
        'consumer/tube-consumer.ts',
        'this.burier.bury(delivery);',
        'delivery.bury(() => undefined);',
      ]),
      ...contract(
        'ledger-letters-end.spec.ts',
        'is gone once the letter was discarded',
        ['letters/letters.rule.ts', "isOver(record, generation) ? 'gone'", "false ? 'gone'"],
        [
          'letters/letters.lua.ts',
          'return record and isOver(record, generation) and GONE',
          'return false and GONE',
        ],
      ),
      ...contract(
        'ledger-letters-end.spec.ts',
        'is of an unknown fate where its job is unknown, or not known to be dead',
        ['letters/letters.rule.ts', "isOver(record, generation) ? 'gone'", "true ? 'gone'"],
        [
          'letters/letters.lua.ts',
          'return record and isOver(record, generation) and GONE',
          'return record and GONE',
        ],
      ),
      ...contract(
        'ledger-letters-end.spec.ts',
        'is gone once the job was revived, and is no copy of the letter if the job dies again',
        ['letters/letters.rule.ts', 'if (found?.generation === generation) {', 'if (found) {'],
        [
          'letters/letters.lua.ts',
          "if letter ~= '' and cjson.decode(letter).generation == generation then",
          "if letter ~= '' then",
        ],
      ),
    ],
  },
  {
    rule: 'A discarded job whose processes all died silently never runs from a copy that comes back with its node.',
    mutants: contract(
      'ledger-letters-end.spec.ts',
      'keeps the record for the longest time where no run has reported its copies',
      ['runs/runs.rule.ts', "why === 'attempts' && !toldOf", 'false as boolean'],
      ['runs/claim.lua.ts', "why == 'attempts' and not toldOf", 'false'],
    ),
  },
  {
    rule: 'Whoever removes a dead letter deletes all the copies it knew of by then.',
    mutants: [
      ...unit(
        'producer/revive-and-discard.spec.ts',
        'deletes the copies that others have found since the letter was read: %s',
        ['producer/dead-letters.ts', '(taken ?? letter).places', 'letter.places'],
        ['producer/job-mover.ts', 'answer.left ?? known.places', 'known.places'],
      ),
      ...unit(
        'operate/letter-acts.spec.ts',
        'deletes the copies that others have found since the page was read',
        [
          'operate/letter-acts.ts',
          'taken[i] ?? (tries > 1 ? letter : undefined)',
          'taken[i] || tries > 1 ? letter : undefined',
        ],
      ),
      ...contract(
        'ledger-letters-end.spec.ts',
        'brings a dead job back with fresh attempts, and takes its letter away',
        ['schedules/schedules.rule.ts', ', ...(left && { left: left.places })', ''],
        ['schedules/commit.lua.ts', "if left then return 'revived', '', left end", ''],
      ),
    ],
  },
];
