// Instruments the built library as it is loaded: each function reports its calls.
import ts from 'typescript';

const OURS = /\/packages\/(?:nest-dq|nest-handlers)\/dist\/.*\.js$/;

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const [path] = url.match(OURS) ?? [];
  if (path === undefined || !loaded.source) return loaded;
  const file = path.slice('/packages/'.length).replace('/dist/', '/src/').replace(/\.js$/, '.ts');
  return { ...loaded, source: instrument(String(loaded.source), file) };
}

/** Inserts a call of `__road` at the start of every function body. */
function instrument(source, file) {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const insertions = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const call = `__road(${JSON.stringify(`${file}#${nameOf(node)}@${node.getStart()}`)})`;
      const { body } = node;
      if (ts.isBlock(body)) insertions.push([body.getStart() + 1, ` ${call};`]);
      else insertions.push([body.getStart(), `(${call}, `], [body.getEnd(), ')']);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  let result = source;
  // From the end, so that positions stay right; a closing bracket goes behind what starts at the same place.
  for (const [at, text] of insertions.toSorted(([a], [b]) => b - a))
    result = result.slice(0, at) + text + result.slice(at);
  return result;
}

function nameOf(node) {
  const own = ts.isConstructorDeclaration(node) ? 'constructor' : node.name?.getText();
  const { parent } = node;
  const name =
    own ??
    (ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isPropertyAssignment(parent)
      ? parent.name.getText()
      : undefined);
  const around = enclosing(ts.isPropertyDeclaration(parent) ? parent : node);
  if (name === undefined) return around === undefined ? 'callback' : `${around} (callback)`;
  return around === undefined ? name : `${around}.${name}`;
}

/** The class or the named function around a function. */
function enclosing(node) {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isClassLike(at)) return at.name?.getText();
    if (ts.isFunctionLike(at) && at.body) return nameOf(at);
  }
  return undefined;
}
