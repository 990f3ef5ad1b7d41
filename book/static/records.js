// Reads a record as softmax_lib/records/schema.py does, by the rules that come with the page: what breaks one of them is
// one sentence, and nothing of the file is taken.
window.worklogRecords = (function () {
  const KINDS = {
    int: Number.isInteger,
    float: (value) => typeof value === "number",
    str: (value) => typeof value === "string",
    list: Array.isArray,
    dict: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    NoneType: (value) => value === null,
  };
  const has = (entry, name) => Object.hasOwn(entry, name);
  const said = (value) => JSON.stringify(value).slice(0, 40);

  // The first thing that is wrong with a record's content, in words; null when there is nothing.
  function findFault(content, rules) {
    const { shapes } = rules;
    const isPossible = (value, least) => typeof value === "number" && least <= value && value <= rules.largest;

    function mistyped(entry, wanted, where) {
      if (!KINDS.dict(entry)) return `${where} is no JSON object`;
      for (const [name, kinds] of Object.entries(wanted)) {
        if (!has(entry, name)) return `${where} lacks ${name}`;
        if (!kinds.some((kind) => KINDS[kind](entry[name])))
          return `${name} of ${where} is ${said(entry[name])}, which has the wrong type`;
      }
      const unknown = Object.keys(entry).filter((name) => !has(wanted, name)).sort();
      return unknown.length ? `${where} has ${unknown[0]}, which is not known here` : null;
    }

    function impossible(entry, where) {
      for (const [name, value] of Object.entries(entry)) {
        const least = rules.counted.includes(name) ? 0 : rules.least;
        if (typeof value === "number" && !isPossible(value, least))
          return `${name} of ${where} is ${said(value)}, which cannot be`;
      }
      for (const [name, options] of Object.entries(rules.known))
        if (has(entry, name) && !options.includes(entry[name]))
          return `${name} of ${where} is ${said(entry[name])} and not one of ${options.join(", ")}`;
      const [low, median, high] = ["low_us", "median_us", "high_us"].map((name) => entry[name] ?? 0);
      if (!(low <= median && median <= high))
        return `median_us of ${where} is ${median}, which is not between its quartiles`;
      const version = entry.compute_capability ?? "9.0";
      return /^\d\d?\.\d$/.test(version) ? null : `compute_capability of ${where} is ${said(version)}, which cannot be`;
    }

    function noText(where, entry) {
      if (!KINDS.dict(entry)) return `${where} is no JSON object`;
      const odd = Object.keys(entry).find((name) => typeof entry[name] !== "string");
      return odd === undefined ? null : `${odd} of ${where} is no text`;
    }

    function unknownIn(entry, where, who) {
      const name = entry[who];
      const kernel = has(rules.kernels, name) ? rules.kernels[name] : null;
      if (!kernel && (who === "kernel" || !rules.peers.includes(name)))
        return `${who} of ${where} is ${name}, which is not known here`;
      if (!(kernel ? kernel.block_sizes : [null]).includes(entry.block_size))
        return `block_size of ${where} is ${entry.block_size}, which ${name} is not launched with`;
      if (entry.step && !kernel?.steps.includes(entry.step))
        return `step of ${where} is ${entry.step}, which ${name} does not have`;
      return null;
    }

    function oddProbe(probe, where) {
      if (!has(rules.probes, probe.name)) return `${where} is ${probe.name}, which is not known here`;
      for (const [index, part] of ["at", "found"].entries()) {
        const lacking = rules.probes[probe.name][index].find((name) => !has(probe[part], name));
        if (lacking) return `${part} of ${where} lacks ${lacking}`;
        for (const [name, value] of Object.entries(probe[part]))
          if (!isPossible(value, part === "found" ? rules.least : 0))
            return `${name} of ${where} is ${said(value)}, which cannot be`;
      }
      return null;
    }

    const first = (entries, where, judge) => {
      for (const [index, entry] of entries.entries()) {
        const fault = judge(entry, `${where}[${index}]`);
        if (fault) return fault;
      }
      return null;
    };
    const asCounted = (entry) =>
      KINDS.dict(entry) && Object.keys(rules.execution).some((name) => has(entry, name)) ? rules.execution : {};
    const whole = (shape, more) => (entry, where) =>
      mistyped(entry, { ...shapes[shape], ...more(entry) }, where) || impossible(entry, where);
    const plain = () => ({});

    if (!KINDS.dict(content)) return "it is no JSON object";
    return (
      mistyped(content, shapes.content, "the record") ||
      mistyped(content.gpu, shapes.gpu, "gpu") ||
      impossible(content.gpu, "gpu") ||
      ["software", "kernels", "skipped"].map((name) => noText(name, content[name])).find(Boolean) ||
      Object.entries(content.clocks).map(([when, told]) => noText(`clocks ${when}`, told)).find(Boolean) ||
      first(content.rows, "rows", whole("row", plain)) ||
      first(content.rows, "rows", (entry, where) => unknownIn(entry, where, "provider")) ||
      first(content.counters, "counters", whole("counters", asCounted)) ||
      first(content.counters, "counters", (entry, where) => unknownIn(entry, where, "kernel")) ||
      first(content.probes, "probes", whole("probe", plain)) ||
      first(content.probes, "probes", oddProbe) ||
      first(content.notes, "notes", (note, where) => (typeof note === "string" ? null : `${where} is no text`))
    );
  }

  // What a file holds. Throws an Error whose message is one sentence for what is no record of this schema.
  function read(text, name, rules) {
    let content;
    try {
      content = JSON.parse(text, (_, value) => (typeof value === "string" ? value.slice(0, rules.longest_word) : value));
    } catch {
      throw new Error(`${name} is no record: it is not JSON.`);
    }
    const schema = KINDS.dict(content) ? content.schema : undefined;
    if (schema === undefined) throw new Error(`${name} is no record: it does not say which schema it has.`);
    if (schema !== rules.schema)
      throw new Error(`${name} has schema ${said(schema)}; this page reads schema ${rules.schema}.`);
    const fault = findFault(content, rules);
    if (fault) throw new Error(`${name} is damaged: ${fault.slice(0, 4 * rules.longest_word)}.`);
    return content;
  }

  return { read, findFault };
})();
