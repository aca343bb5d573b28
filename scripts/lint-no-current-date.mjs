// A rule of oxlint: `new Date()` and `Date()` ask the machine for the time. oxlint's own rules see `Date.now()`, but not these.
export default {
  meta: { name: 'clock' },
  rules: {
    'no-current-date': {
      create(context) {
        const check = (node) => {
          const { type, name } = node.callee;
          if (type !== 'Identifier' || name !== 'Date') return;
          if (node.type === 'NewExpression' && node.arguments.length > 0) return;
          context.report({ node, message: 'Ask a Clock for the time.' });
        };
        return { NewExpression: check, CallExpression: check };
      },
    },
  },
};
