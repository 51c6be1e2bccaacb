// The style sheet of the page. Screens narrower than 640 points get one column.

enum PageStyle {
  static let text = """
    \(Palette.pageRules)
    *{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
    font:16px/1.5 \(SVGImage.font)}
    main{max-width:920px;margin:0 auto;padding:48px 24px 96px}
    h1{font-size:40px;line-height:1.1;margin:0 0 12px;letter-spacing:-.02em}
    h2{font-size:22px;line-height:1.25;margin:56px 0 12px;letter-spacing:-.01em}
    h3{font-size:15px;line-height:1.35;margin:0}h2+h3{margin-top:24px}
    a{color:inherit}.eyebrow,.row{color:var(--ours);font-weight:600;margin:0}
    .lead{max-width:66ch;margin:0}.quiet{color:var(--quiet);max-width:72ch;margin:0 0 16px}
    .notice{border-left:4px solid var(--worse);background:color-mix(in srgb,var(--worse) 12%,transparent);
    padding:10px 14px;margin:16px 0 0;max-width:72ch;font-weight:600}
    dl{display:grid;grid-template-columns:minmax(84px,auto) 1fr;gap:4px 16px;font-size:14px;margin:24px 0 0}
    dt{font-weight:600}dd{margin:0;color:var(--quiet);overflow-wrap:anywhere}
    .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:12px;margin:24px 0 0}
    .card{border:1px solid var(--line);border-radius:10px;padding:12px 16px}
    .card b{display:block;font-size:22px;font-variant-numeric:tabular-nums}.card span{color:var(--quiet);font-size:14px}
    figure{margin:0}.overview{max-width:620px;margin:0 0 32px}svg{display:block;width:100%;height:auto}
    .operations,.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));
    gap:28px 40px;align-items:start}
    article p{margin:0}.own{font-size:14px;color:var(--ours);padding:2px 0 4px}.limit{font-size:13px;color:var(--quiet);
    padding-top:2px}
    .side{display:grid;grid-template-columns:64px minmax(40px,1fr) 98px 74px;gap:8px;align-items:center;font-size:14px;
    line-height:1.75}
    .side b{font-weight:600;white-space:nowrap}.side .number{color:var(--quiet)}
    .strip{display:block;position:relative;height:14px;border-radius:3px;
    background:color-mix(in srgb,var(--line) 60%,transparent);overflow:hidden}
    .strip i{position:absolute;top:3px;height:8px}.strip .bar{border-radius:2px;min-width:2px}
    .strip .one{top:0;height:14px;border-left:2px solid var(--ink);margin-left:-1px}
    .strip .range{top:6px;height:2px;background:var(--ink)}
    .bar.better{background:var(--better)}.bar.worse{background:var(--worse)}.bar.even{background:var(--even)}
    b.better{color:var(--better)}b.worse{color:var(--worse)}b.even{color:var(--quiet)}
    .number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
    table{border-collapse:collapse;width:100%;font-size:14px}th{color:var(--quiet);font-weight:500;text-align:left}
    th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
    .goals .strip{width:150px;margin-top:4px}.distance{display:flex;gap:10px;white-space:nowrap}
    .distance b{font-weight:600}.scroll{overflow-x:auto}details{margin-top:8px}
    summary{cursor:pointer;color:var(--quiet);font-size:14px}
    pre{background:color-mix(in srgb,var(--line) 45%,transparent);padding:12px 14px;border-radius:8px;font-size:13px;
    white-space:pre-wrap;overflow-wrap:anywhere}
    @media(min-width:641px){.facts{grid-template-columns:auto 1fr auto 1fr}}
    @media(max-width:640px){main{padding:28px 16px 64px}h1{font-size:32px}h2{margin-top:44px}
    .cards{grid-template-columns:1fr 1fr}.settings{grid-template-columns:1fr}.settings dd{margin-bottom:10px}.card{padding:10px 12px}
    .goals,.goals tbody{display:block}.goals thead{display:none}
    .goals tr{display:grid;grid-template-columns:auto 1fr auto;gap:0 10px;padding:9px 0;border-bottom:1px solid var(--line)}
    .goals td{border:0;padding:1px 0}.goals td:nth-child(2){grid-column:2/4}.goals td:nth-child(3){grid-column:1/3;
    text-align:left}.goals td:nth-child(5){grid-column:1/4}.goals .strip{flex:1;width:auto}.distance b{width:128px}}
    @media print{details{display:none}}
    """
}
