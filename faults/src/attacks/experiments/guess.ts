import type { Attack } from '../attack.js';
import { none } from '../../experiment.js';
import { TUBES } from '../workload.js';

/** References of a client whom the application lets revoke, and who knows where the copies of others are: as go-queue names jobs, without a tag. */
export const guess: Attack = {
  number: 11,
  name: 'guess',
  what: "references without a tag: go-queue's ids of waiting jobs, in their tubes and in others",
  passes: 'all are rejected with DQ_BAD_REF',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const guessed = lab.victims.flatMap(({ node, id }) => {
      const { host, port } = lab.beanstalkds[node]!;
      return TUBES.map((tube) => `${host}:${port}/${tube}/${id}`);
    });
    const refs = [...guessed, guessed.join(',')];
    const answers = await Promise.all(
      refs.map((ref) => lab.revokeFor(ref).catch((error: { code?: string }) => error.code)),
    );
    return {
      checks: [
        none(
          'references that were not rejected',
          answers.filter((answer) => answer !== 'DQ_BAD_REF'),
        ),
      ],
      notes: [`${answers.length} references were tried`],
    };
  },
};
