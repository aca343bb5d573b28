// Rules of sealed jobs: what nobody without the key can do.
import { unit, type Rule } from './rule.js';

const SPEC = 'copies/formats/sealed.spec.ts';
const SEALED = 'copies/formats/sealed.ts';

export const SEALING: readonly Rule[] = [
  {
    rule: 'A sealed copy runs only as it was written: in its tube, with all its bytes, and with no part of another.',
    mutants: [
      ...unit(SPEC, 'does not run with any of its bytes changed, left out or added', [
        'seal/seal.ts',
        "return 'broken'; // the one thing that it can say",
        '',
      ]),
      ...unit(SPEC, 'does not run in another tube, or under another prefix', [
        SEALED,
        'return `nest-dq seal 2\\n${tube}\\n`;',
        'return `nest-dq seal 2\\n`;',
      ]),
      ...unit(SPEC, 'does not run under another context, nor does its reference find the job there', [
        'seal/seal.ts',
        "${this.settings.context ?? ''}",
        '',
      ]),
      ...unit(
        SPEC,
        'has no copy that is made of two',
        [
          SEALED,
          'if (expected.length !== PROOF_BYTES || !timingSafeEqual(expected, proof)) return NO_COPY;',
          '',
        ],
        ['seal/seal.ts', 'key.copy.of(nonce + fields)', 'key.copy.of(fields)'],
      ),
      ...unit(SPEC, 'takes a copy without a seal only where that is allowed', [
        'copies/formats/unwrap.ts',
        '!seal || seal.takesUnsealed(tube)',
        'seal !== null',
      ]),
    ],
  },
  {
    rule: 'No nonce of a key is used twice.',
    mutants: unit(SPEC, 'never uses a nonce twice, and is not the same for the same job', [
      'seal/seal.ts',
      'key.sealed++',
      'key.sealed',
    ]),
  },
  {
    rule: 'A copy whose key a process does not have stays for those who have it.',
    mutants: unit(
      'consumer/sealed-tube.spec.ts',
      'a copy whose key this process does not have is handed back, and runs where the key is',
      ['consumer/reserve/consumer-node.ts', '!reason.startsWith(NO_KEY)', 'true'],
    ),
  },
  {
    rule: 'A key that has other bytes in other processes seals nothing, and copies that name it stay for those who have the right one.',
    mutants: unit(
      'seal/key-check.spec.ts',
      'is refused by its name: nothing is sealed or read with it, and other keys and tubes still work',
      ['seal/seal.ts', 'if (this.refused.includes(current)) throw otherBytesError([current]);', ''],
      ['seal/seal.ts', '!master || this.refused.includes(name)', '!master'],
    ),
  },
  {
    rule: 'A reference that was altered, or has no tag, finds no job.',
    mutants: [
      ...unit('copies/job-ref.spec.ts', 'are refused with any of their characters changed', [
        'copies/job-ref.ts',
        '!isSame(seal.tagOf(keyName, text), tag!)',
        'false',
      ]),
      ...unit(
        'copies/job-ref.spec.ts',
        'are refused without a tag, but of tubes and in times without a seal',
        ['copies/job-ref.ts', 'seal.takesUnsealed(content.tube)', 'true'],
      ),
    ],
  },
  {
    rule: "With `doneTtl: 'untilStale'` no copy of a job that is over runs when somebody stores it again.",
    mutants: unit('consumer/replays.spec.ts', 'after it was revoked', [
      'ledger/settle-queue.ts',
      'this.closed || this.remembersAll ||',
      'this.closed ||',
    ]),
  },
];
