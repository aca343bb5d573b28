import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';

const operands = ['ENDPOINT'];
const STATUS = '0 done, or nothing to do; 2 Redis unusable';

export const nodeDrain = clusterCommand({
  name: 'node drain',
  acts: true,
  operands,
  summary: 'Stop storing new copies on a node, until `node undrain`.',
  about: 'Takes effect in all processes within 5s. Existing copies stay there, and their jobs still run.',
  flags: {},
  status: STATUS,
  examples: ['nest-dq node drain "${DQ_BEANSTALKS%%,*}"'],
  async run(args, { runtime }) {
    const node = args.required('ENDPOINT');
    const changed = await runtime.control.drainNode(node, { by: operator() });
    return {
      json: { node, drained: true, changed },
      text: `${node}: ${changed ? 'is' : 'was already'} drained`,
    };
  },
});

export const nodeUndrain = clusterCommand({
  name: 'node undrain',
  acts: true,
  operands,
  summary: 'Resume storing copies on a node.',
  about: 'Takes effect in all processes within 5s.',
  flags: {},
  status: STATUS,
  examples: ['nest-dq node undrain "${DQ_BEANSTALKS%%,*}"'],
  async run(args, { runtime }) {
    const node = args.required('ENDPOINT');
    const changed = await runtime.control.undrainNode(node, { by: operator() });
    const text = `${node}: ${changed ? 'gets new copies again' : 'was not drained'}`;
    return { json: { node, drained: false, changed }, text };
  },
});
